"""PIVOT and UNPIVOT as written."""

from __future__ import annotations

from ..expressions.core import Expression
from ..frozen import dataclass
from .query_plan import UnaryNode, UnresolvedNode


@dataclass(frozen=True, kw_only=True)
class UnresolvedPivot(UnresolvedNode, UnaryNode):
    """One row per group: its `aggregates` over the rows with each of `values` in `column`.

    `grouping` of None stands for the columns that neither `column` nor `aggregates` name.
    """

    expression_fields = ("grouping", "column", "values", "aggregates")

    column: Expression
    values: tuple[Expression, ...]
    aggregates: tuple[Expression, ...]
    grouping: tuple[Expression, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class UnresolvedUnpivot(UnresolvedNode, UnaryNode):
    """Each row once per entry of `columns`: their values under `value_names`, and a name.

    `names` are the entries' own (None: made of the columns'); they go to `name_column`. Rows whose
    values are all null are left out unless `include_nulls`. `ids` are the columns that stay (None:
    all that are not in `columns`). Without `columns` all but the `ids` are taken.
    """

    expression_fields = ("ids", "columns")

    ids: tuple[Expression, ...] | None = None
    columns: tuple[tuple[Expression, ...], ...] | None
    names: tuple[str | None, ...] = ()
    value_names: tuple[str, ...]
    name_column: str
    include_nulls: bool = False
