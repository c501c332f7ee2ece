"""An expression in the form that the embedded engine is given, where the plain one differs."""

from __future__ import annotations

from collections.abc import Callable
from string import Formatter

from ...planner.model.expressions.bound import Written
from ...planner.model.expressions.core import Expression
from ...planner.model.frozen import dataclass
from ...planner.model.schemas.types import DataType

COMPARABLE = "comparable"
"""The rewrite of a key of an order."""


@dataclass(frozen=True, kw_only=True)
class ExactForm(Written):
    """An expression that the embedded engine is given in another form.

    Attributes:
        original: what it computes; its children stay expressions that may be changed.
        rewrite: the name of the rewrite.
        template: the form.
    """

    child_fields = ("original",)

    original: Expression
    rewrite: str
    template: str

    @property
    def data_type(self) -> DataType:
        return self.original.data_type

    @property
    def nullable(self) -> bool:
        return self.original.nullable

    @property
    def text(self) -> str:
        """The form in plans."""
        return f"exact[{self.rewrite}]"

    @property
    def given(self) -> tuple[Expression, ...]:
        """The arguments that the form names: the others are in its text."""
        names = {name for _, name, _, _ in Formatter().parse(self.template)}
        children = self.original.children
        return tuple(c for i, c in enumerate(children) if str(i) in names or "plain" in names)

    @property
    def repeats(self) -> tuple[int, ...]:
        """How often the form says each argument."""
        plain = self.template.count("{plain}")
        count = len(self.original.children)
        return tuple(plain + self.template.count(f"{{{i}}}") for i in range(count))

    def sql_over(self, show: Callable[[Expression], str]) -> str:
        """The engine's SQL, the children's SQL in it."""
        arguments = [show(child) for child in self.original.children]
        plain = show(self.original) if "{plain}" in self.template else ""
        return self.template.format(*arguments, plain=plain)


def text(message: str) -> str:
    """A constant text in SQL."""
    return "'" + message.replace("\\", "\\\\").replace("'", "\\'") + "'"


def failure(message: str, value: str, type_sql: str) -> str:
    """SQL that fails with a message, as part of a CASE.

    The message is made of a value of the row: a branch of constants would be computed, and fail,
    for every row.
    """
    return raised(text(message), value, type_sql)


def raised(words: str, value: str, type_sql: str) -> str:
    """The same with the message in SQL."""
    own = f"concat({words}, left(CAST({value} AS STRING), 0))"
    return f"CAST(raise_error({own}) AS {type_sql})"
