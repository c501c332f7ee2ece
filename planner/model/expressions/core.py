"""Expressions: frozen trees of our own, unresolved or resolved.

They are the common target of the SQL front end, of Python builders and of Spark Connect's plans.
Almost everything that Spark has a class for is a `Call` by name here: what a function or operator
means (types, nullability, its texts) is in the function registry (`registry.py`, `functions/`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field
from itertools import chain
from operator import is_
from typing import Literal as Lit
from typing import Self, cast

from .. import registry
from ..frozen import dataclass
from ..ids import fresh_id
from ..lazy import cached_property
from ..schemas.casts import may_be_null
from ..schemas.types import ArrayType, DataType, StructField, StructType
from ..tree import replace
from .base import NO_METADATA as NO_METADATA
from .base import Expression as Expression
from .base import LikePart, Typed, TypedColumn
from .base import Metadata as Metadata
from .base import Origin as Origin
from .literal import FALSE as FALSE
from .literal import NULL_LITERAL as NULL_LITERAL
from .literal import TRUE as TRUE
from .literal import Literal as Literal
from .literal import lit as lit

EvalMode = Lit["ANSI", "LEGACY", "TRY"]
AggregateMode = Lit["Partial", "PartialMerge", "Final", "Complete"]


# ------------------------------------------------------------------------------------ leaves


@dataclass(frozen=True, kw_only=True)
class AttributeReference(TypedColumn):
    """A resolved column. `expr_id` names it; the qualifier takes no part in equality."""

    name: str
    type_: DataType
    is_nullable: bool = True
    expr_id: int = field(default_factory=fresh_id)
    metadata: Metadata = NO_METADATA
    qualifier: tuple[str, ...] = field(default=(), compare=False)

    @cached_property
    def references(self) -> frozenset[int]:
        return frozenset((self.expr_id,))

    @property
    def delay_ms(self) -> int | None:
        """The watermark's delay if this is an event-time column."""
        return self.metadata.delay_ms

    def new_instance(self) -> AttributeReference:
        """The same column under a fresh id."""
        return replace(self, expr_id=fresh_id())

    def with_nullability(self, nullable: bool) -> AttributeReference:
        """The same column, nullable or not."""
        return self if nullable == self.is_nullable else replace(self, is_nullable=nullable)

    def with_qualifier(self, qualifier: tuple[str, ...]) -> AttributeReference:
        """The same column under another table name."""
        return replace(self, qualifier=qualifier)


@dataclass(frozen=True, kw_only=True)
class LambdaVariable(TypedColumn):
    """A resolved parameter of a lambda."""

    name: str
    type_: DataType
    is_nullable: bool = True
    expr_id: int = field(default_factory=fresh_id)


# ------------------------------------------------------------------------------------- inner


@dataclass(frozen=True, kw_only=True)
class Alias(Expression):
    """`child AS name`. Metadata is the child's own, unless given."""

    child_fields = ("child",)

    child: Expression
    name: str
    expr_id: int = field(default_factory=fresh_id)
    explicit_metadata: Metadata | None = None
    qualifier: tuple[str, ...] = field(default=(), compare=False)

    @property
    def data_type(self) -> DataType:
        return self.child.data_type

    @property
    def nullable(self) -> bool:
        return self.child.nullable

    @property
    def metadata(self) -> Metadata:
        if self.explicit_metadata is not None:
            return self.explicit_metadata
        child = self.child
        return child.metadata if isinstance(child, AttributeReference | Alias) else NO_METADATA

    def to_attribute(self) -> AttributeReference:
        """The column that this alias makes."""
        return self._attribute if self.resolved else self._column()

    @cached_property
    def _attribute(self) -> AttributeReference:
        return self._column()

    def _column(self) -> AttributeReference:
        return AttributeReference(
            name=self.name,
            type_=self.data_type,
            is_nullable=self.nullable,
            expr_id=self.expr_id,
            metadata=self.metadata,
            qualifier=self.qualifier,
        )


@dataclass(frozen=True, kw_only=True)
class Cast(Typed):
    """`CAST(child AS type)`. `implicit`: put in by type coercion, not written by the user."""

    child_fields = ("child",)

    child: Expression
    type_: DataType
    mode: EvalMode = "ANSI"
    time_zone: str | None = None
    implicit: bool = False

    @cached_property
    def nullable(self) -> bool:
        return self.child.nullable or may_be_null(self.child.data_type, self.type_, self.mode)

    @property
    def foldable(self) -> bool:
        return self.child.foldable


@dataclass(frozen=True, kw_only=True)
class Call(Expression):
    """A resolved scalar function, operator, generator or aggregate function, by registry name.

    `ansi` and `time_zone` are those of the session when it was resolved. `options` are constants
    that are no expressions but part of the call (the seed of a hash, `ignoreNulls` of first).
    """

    child_fields = ("arguments",)

    name: str
    arguments: tuple[Expression, ...] = ()
    ansi: bool = True
    time_zone: str | None = None
    options: tuple[object, ...] = ()

    @property
    def spec(self) -> registry.FunctionSpec:
        return registry.lookup(self.name)

    @cached_property
    def data_type(self) -> DataType:
        return self.spec.data_type(self)

    @cached_property
    def nullable(self) -> bool:
        return self.spec.nullable(self)

    @cached_property
    def deterministic(self) -> bool:
        return self.spec.deterministic and all(a.deterministic for a in self.arguments)

    @cached_property
    def foldable(self) -> bool:
        spec = self.spec
        return (
            spec.kind == "scalar"
            and spec.deterministic
            and spec.constant
            and (spec.of_types or all(a.foldable for a in self.arguments))
        )


@dataclass(frozen=True, kw_only=True)
class CaseWhen(Expression):
    """`CASE WHEN ... THEN ... ELSE ... END`; conditions and values go in pairs."""

    child_fields = ("conditions", "values", "otherwise")

    conditions: tuple[Expression, ...]
    values: tuple[Expression, ...]
    otherwise: Expression | None = None

    @cached_property
    def children(self) -> tuple[Self, ...]:
        """Each condition before its value: in this order a plan has aggregates and aliases."""
        pairs = chain.from_iterable(zip(self.conditions, self.values, strict=True))
        found = (*pairs, *(() if self.otherwise is None else (self.otherwise,)))
        return cast(tuple[Self, ...], found)

    def map_children(self, function: Callable[[Self], Self]) -> Self:
        """As of every node."""
        new = tuple(map(function, self.children))
        if all(map(is_, new, self.children)):
            return self
        end = 2 * len(self.conditions)
        otherwise = None if self.otherwise is None else new[end]
        return replace(self, conditions=new[:end:2], values=new[1:end:2], otherwise=otherwise)

    @cached_property
    def data_type(self) -> DataType:
        return self.values[0].data_type

    @cached_property
    def nullable(self) -> bool:
        rest = self.otherwise is None or self.otherwise.nullable
        return rest or any(value.nullable for value in self.values)

    @cached_property
    def foldable(self) -> bool:
        return all(child.foldable for child in self.children)


@dataclass(frozen=True, kw_only=True)
class GetStructField(Expression):
    """`child.name`, or where the child is an array of structs, that field of each element."""

    child_fields = ("child",)

    child: Expression
    ordinal: int
    name: str

    @property
    def field(self) -> StructField:
        return _struct_of(self.child.data_type).fields[self.ordinal]

    @cached_property
    def data_type(self) -> DataType:
        inner = self.field.data_type
        if isinstance(self.child.data_type, ArrayType):
            return ArrayType(inner, self.child.data_type.contains_null or self.field.nullable)
        return inner

    @cached_property
    def nullable(self) -> bool:
        if isinstance(self.child.data_type, ArrayType):
            return self.child.nullable
        return self.child.nullable or self.field.nullable

    @property
    def foldable(self) -> bool:
        return self.child.foldable


def _struct_of(data_type: DataType) -> StructType:
    if isinstance(data_type, ArrayType):
        data_type = data_type.element_type
    assert isinstance(data_type, StructType)
    return data_type


@dataclass(frozen=True, kw_only=True)
class LambdaFunction(LikePart):
    """`(x, y) -> body`. Parameters are UnresolvedLambdaVariable until the types are known."""

    child_fields = ("body", "parameters")
    like = "body"

    body: Expression
    parameters: tuple[Expression, ...]


@dataclass(frozen=True, kw_only=True)
class AggregateExpression(LikePart):
    """An aggregate function where an aggregation computes it. `function` is a Call."""

    child_fields = ("function", "filter")
    like = "function"

    function: Call
    mode: AggregateMode = "Complete"
    distinct: bool = False
    filter: Expression | None = None
    result_id: int = field(default_factory=fresh_id)

    def result_attribute(self, name: str) -> AttributeReference:
        """The column that holds this function's result; `name` is its pretty SQL."""
        return AttributeReference(
            name=name, type_=self.data_type, is_nullable=self.nullable, expr_id=self.result_id
        )


@dataclass(frozen=True, kw_only=True)
class SortOrder(Expression):
    """`child ASC NULLS FIRST` and the like; `same` are expressions that always equal the child."""

    child_fields = ("child", "same")

    child: Expression
    ascending: bool = True
    nulls_first: bool = True
    same: tuple[Expression, ...] = ()

    @property
    def data_type(self) -> DataType:
        return self.child.data_type


def ascending(keys: Iterable[Expression]) -> tuple[SortOrder, ...]:
    """The order in which rows with equal keys stand together."""
    return tuple(SortOrder(child=key) for key in keys)


def to_attribute(expression: Expression) -> AttributeReference:
    """The column that a named expression makes.

    Raises:
        TypeError: the expression has no name yet.
    """
    if isinstance(expression, AttributeReference):
        return expression
    if isinstance(expression, Alias):
        return expression.to_attribute()
    raise TypeError(f"not a named expression: {expression!r}")


def without_alias(expression: Expression) -> Expression:
    """What stands under an alias; anything else is itself."""
    return expression.child if isinstance(expression, Alias) else expression
