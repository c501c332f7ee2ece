"""What every expression has: the base class, its place in the query, what attributes carry."""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar
from typing import Literal as Lit

from ..frozen import dataclass
from ..lazy import cached_property
from ..schemas.types import DataType
from ..tree import TreeNode


@dataclass(frozen=True)
class Origin:
    """Where in the query's text an expression or operator stands. Lines count from 1.

    `file` is set where that is a line of Python code: `source` is then the line, `position` 0,
    and `context` what Spark's messages say of the place, if anything. `state_name` is the user's
    name of the stateful operator.
    """

    line: int
    position: int
    start: int = 0
    stop: int = 0
    source: str = ""
    file: str = ""
    context: str = ""
    state_name: str = ""

    @property
    def line_text(self) -> str:
        """`job.py:3` or `line 3`."""
        return f"{self.file}:{self.line}" if self.file else f"line {self.line}"


@dataclass(frozen=True)
class Metadata:
    """What an attribute carries besides its type.

    Attributes:
        delay_ms: the watermark's delay in milliseconds, if this is an event-time column.
        window: whether the column is a time window or session window made by the analyzer.
        given: what the user's code gives it, as JSON.
        generated: whether the column's name was made from its expression; such an alias is never
            taken for a mere renaming.
    """

    delay_ms: int | None = None
    window: Lit["time", "session"] | None = None
    given: str | None = None
    generated: bool = False


NO_METADATA = Metadata()


@dataclass(frozen=True, kw_only=True)
class Expression(TreeNode):
    """Base of all expressions. `origin` takes no part in equality."""

    origin: Origin | None = field(default=None, compare=False, repr=False)

    @property
    def data_type(self) -> DataType:
        raise NotImplementedError(type(self).__name__)

    @property
    def nullable(self) -> bool:
        return True

    @cached_property
    def resolved(self) -> bool:
        return all(child.resolved for child in self.children)

    @property
    def foldable(self) -> bool:
        """Whether it is a constant: no attribute, nothing that changes from row to row."""
        return False

    @cached_property
    def deterministic(self) -> bool:
        return all(child.deterministic for child in self.children)

    @cached_property
    def references(self) -> frozenset[int]:
        """The ids of all attributes in the expression."""
        if not self.children:
            return frozenset()
        return frozenset().union(*(child.references for child in self.children))


class LikePart(Expression):
    """An expression of the type of one of its parts, and null where that is."""

    like: ClassVar[str]

    @property
    def data_type(self) -> DataType:
        part: Expression = getattr(self, self.like)
        return part.data_type

    @property
    def nullable(self) -> bool:
        part: Expression = getattr(self, self.like)
        return part.nullable


class Typed(Expression):
    """An expression whose type is its field `type_`."""

    type_: DataType

    @property
    def data_type(self) -> DataType:
        return self.type_


class TypedColumn(Typed):
    """The same, and `is_nullable` says whether it may be null."""

    is_nullable: bool

    @property
    def nullable(self) -> bool:
        return self.is_nullable
