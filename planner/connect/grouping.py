"""`groupBy(...).agg(...)` with its kinds: rollup, cube, grouping sets, pivot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.connect import proto

from ..model.errors import AnalysisError
from ..model.expressions.core import Expression, Origin, without_alias
from ..model.plans.logical import Aggregate
from ..model.plans.pivot import UnresolvedPivot
from ..model.plans.query_plan import LogicalPlan
from .expressions import as_named
from .failures import unsupported
from .literals import literal_of
from .places import Message

if TYPE_CHECKING:
    from .relations import RelationReader

_KINDS = {
    proto.Aggregate.GROUP_TYPE_ROLLUP: "rollup",
    proto.Aggregate.GROUP_TYPE_CUBE: "cube",
    proto.Aggregate.GROUP_TYPE_GROUPING_SETS: "grouping sets",
}


def aggregate(reader: RelationReader, message: Message, origin: Origin | None) -> LogicalPlan:
    """An Aggregate whose select list is the keys, unless settings drop them, and the aggregates."""
    child = reader.child(message.input)
    if message.group_type == proto.Aggregate.GROUP_TYPE_PIVOT:
        if child.is_streaming and not message.pivot.values:
            raise _no_pivot()
        if not message.pivot.values:
            raise unsupported("pivot() without values", origin)
        return _pivot(reader, message, child, origin)
    kind = _KINDS.get(message.group_type)
    keys = reader.expressions.read_all(message.grouping_expressions)
    shown: tuple[Expression, ...] = ()
    if reader.session.retains_group_columns:
        shown = tuple(as_named(key) for key in keys)
    grouping = tuple(without_alias(key) for key in keys)
    sets = None if kind is None else _sets(kind, message, reader, grouping)
    # A set may name what is not among the keys: that is one more key, which is not shown.
    more = dict.fromkeys(key for one in sets or () for key in one if key not in grouping)
    return Aggregate(
        child=child,
        grouping=(*grouping, *more),
        aggregates=(*shown, *reader.expressions.named_all(message.aggregate_expressions)),
        grouping_analytics=None if kind is None or sets is None else (kind, sets),
        origin=origin,
    )


def _pivot(
    reader: RelationReader, message: Message, child: LogicalPlan, origin: Origin | None
) -> LogicalPlan:
    values = tuple(literal_of(value) for value in message.pivot.values)
    aggregates = reader.expressions.read_all(message.aggregate_expressions)
    if any(map(_counts_star, message.aggregate_expressions)):
        raise AnalysisError.of(
            "INVALID_USAGE_OF_STAR_OR_REGEX",
            hint="Count a constant: count(lit(1)).",
            elem="'*'",
            prettyName="Pivot",
        )
    return UnresolvedPivot(
        child=child,
        grouping=tuple(
            as_named(key) for key in reader.expressions.read_all(message.grouping_expressions)
        ),
        column=reader.expressions.read(message.pivot.col),
        values=values,
        aggregates=aggregates,
        origin=origin,
    )


def _counts_star(message: Message) -> bool:
    """Whether it is `count("*")`, named or not: nothing in a pivot makes columns of the star."""
    if message.HasField("alias"):
        return _counts_star(message.alias.expr)
    arguments = message.unresolved_function.arguments
    return any(argument.HasField("unresolved_star") for argument in arguments)


def _sets(
    kind: str, message: Message, reader: RelationReader, keys: tuple[Expression, ...]
) -> tuple[tuple[Expression, ...], ...]:
    if kind != "grouping sets":
        return tuple((key,) for key in keys)
    return tuple(reader.expressions.read_all(one.grouping_set) for one in message.grouping_sets)


def crosstab(reader: RelationReader, message: Message, origin: Origin | None) -> LogicalPlan:
    """`crosstab` pivots by the values that there are.

    Raises:
        StateplanError: a stream's are not known, and neither are a table's here.
    """
    if reader.child(message.input).is_streaming:
        raise _no_pivot()
    raise unsupported("crosstab()", origin)


def _no_pivot() -> AnalysisError:
    return AnalysisError.of("_LEGACY_ERROR_TEMP_3063")
