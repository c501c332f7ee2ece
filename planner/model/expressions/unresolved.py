"""Expressions as written: what analysis has still to replace."""

from __future__ import annotations

from functools import cached_property

from ..frozen import dataclass
from .core import Alias, Expression


@dataclass(frozen=True, kw_only=True)
class Unresolved(Expression):
    """An expression that analysis has still to replace."""

    @cached_property
    def resolved(self) -> bool:
        return False


@dataclass(frozen=True, kw_only=True)
class UnresolvedAttribute(Unresolved):
    """A name as written, dots split: `t.a.b`."""

    parts: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class UnresolvedStar(Unresolved):
    """`*` or `t.*`. `except_names` are those of `* EXCEPT (...)`.

    `given` are the columns of `df["*"]`: those of that DataFrame, wherever it is used.
    `replacement` takes the place of the only column that `except_names` then has: `|> SET a = b`.
    """

    child_fields = ("replacement",)

    target: tuple[str, ...] = ()
    except_names: tuple[tuple[str, ...], ...] = ()
    given: tuple[Expression, ...] = ()
    replacement: Expression | None = None


@dataclass(frozen=True, kw_only=True)
class UnresolvedFunction(Unresolved):
    """A call as written. Operators are calls too, under Spark's names (`+`, `=`, `and`, ...).

    `within` is the order of WITHIN GROUP. `by_name`: it is written as `name(...)`.
    """

    child_fields = ("arguments", "within", "filter")

    name: str
    arguments: tuple[Expression, ...]
    distinct: bool = False
    within: tuple[Expression, ...] = ()
    filter: Expression | None = None
    ignore_nulls: bool | None = None
    by_name: bool = False


@dataclass(frozen=True, kw_only=True)
class NamedArgument(Unresolved):
    """`name => value` among a call's arguments."""

    child_fields = ("value",)

    name: str
    value: Expression


@dataclass(frozen=True, kw_only=True)
class UnresolvedAlias(Unresolved):
    """An expression of a select list that has still to get a name."""

    child_fields = ("child",)

    child: Expression


@dataclass(frozen=True, kw_only=True)
class MultiAlias(Unresolved):
    """`explode(m) AS (k, v)`: a generator of a select list with names for its columns."""

    child_fields = ("child",)

    child: Expression
    names: tuple[str, ...]


def select_entry(expression: Expression) -> Expression:
    """An entry of a select list: with the name it has, or waiting for one from analysis."""
    if isinstance(expression, Alias | MultiAlias | UnresolvedAttribute | UnresolvedStar):
        return expression
    return UnresolvedAlias(child=expression, origin=expression.origin)


@dataclass(frozen=True, kw_only=True)
class UnresolvedOrdinal(Unresolved):
    """A position in the select list, as GROUP BY and ORDER BY write it; counted from 1."""

    ordinal: int


@dataclass(frozen=True, kw_only=True)
class UnresolvedPipeAggregateOrdinal(Unresolved):
    """A position in the input that `|> AGGREGATE ... GROUP BY 1` groups by; counted from 1."""

    ordinal: int


@dataclass(frozen=True, kw_only=True)
class PipeExpression(Unresolved):
    """What a pipe operator computes: with an aggregate function in AGGREGATE, else without.

    Analysis puts the child in its place once that is resolved.
    """

    child_fields = ("child",)

    child: Expression
    clause: str

    @property
    def aggregates(self) -> bool:
        """Whether an aggregate function has to stand in it."""
        return self.clause == "AGGREGATE"


@dataclass(frozen=True, kw_only=True)
class UnresolvedExtractValue(Unresolved):
    """`child[extraction]` or `child.name`: by position, key or field name."""

    child_fields = ("child", "extraction")

    child: Expression
    extraction: Expression


@dataclass(frozen=True, kw_only=True)
class UnresolvedLambdaVariable(Unresolved):
    """A name inside a lambda's body that may be its parameter."""

    parts: tuple[str, ...]
