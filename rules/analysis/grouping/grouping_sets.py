"""GROUP BY: positions, aliases, and CUBE, ROLLUP, GROUPING SETS."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import compress, product

from ....planner.model.expressions.core import (
    AggregateExpression,
    Alias,
    AttributeReference,
    Cast,
    Expression,
    Literal,
    Origin,
    to_attribute,
    without_alias,
)
from ....planner.model.expressions.equality import canonical
from ....planner.model.expressions.literal import lit
from ....planner.model.expressions.unresolved import (
    UnresolvedAlias,
    UnresolvedAttribute,
    UnresolvedFunction,
    UnresolvedOrdinal,
)
from ....planner.model.expressions.windows import SessionWindow, TimeWindow, WindowExpression
from ....planner.model.functions.build import call
from ....planner.model.plans.logical import Aggregate, Expand, Project
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.schemas.types import BYTE, INT, LONG, IntegerType
from ....planner.model.settings.conf import Conf
from ....planner.model.text.text import plan_text, pretty
from ....planner.model.tree import replace
from ..context import Context, Scope
from ..expressions.expressions import Resolver
from ..failures import failure, wrong_argument_count
from ..names.names import as_sql, named


def has_aggregate(expression: Expression) -> bool:
    """Whether an aggregate function stands in the expression, one with OVER aside."""
    if isinstance(expression, AggregateExpression):
        return True
    if isinstance(expression, WindowExpression):
        parts = (*expression.partition_by, *expression.order_by)
        return any(has_aggregate(part) for part in (*expression.function.children, *parts))
    return any(has_aggregate(child) for child in expression.children)


def with_ordinals(items: tuple[Expression, ...], enabled: bool) -> tuple[Expression, ...]:
    """Whole-number constants of GROUP BY and ORDER BY as positions."""
    if not enabled:
        return items
    return tuple(
        UnresolvedOrdinal(ordinal=item.value, origin=item.origin)
        if isinstance(item, Literal)
        and isinstance(item.type_, IntegerType)
        and isinstance(item.value, int)
        else item
        for item in items
    )


def resolve_grouping(plan: Aggregate, context: Context) -> Aggregate:
    """The aggregation with positions and aliases in GROUP BY put in and all columns named.

    A column of the input wins over an alias of the select list of the same name; by the time this
    runs, such names are columns already.
    """
    aggregates = tuple(named(item) for item in plan.aggregates)
    plan = replace(plan, aggregates=aggregates)
    ready = all(item.resolved for item in aggregates)
    if ready and _is_all(plan.grouping):
        every = (item for item in aggregates if not has_aggregate(item))
        return replace(plan, grouping=tuple(without_alias(item) for item in every))
    grouping = tuple(
        _grouping_item(item, plan, context) if ready else item for item in plan.grouping
    )
    return replace(plan, grouping=grouping)


def _is_all(grouping: tuple[Expression, ...]) -> bool:
    """Whether it is GROUP BY ALL: by every entry of the select list that aggregates nothing."""
    match grouping:
        case (UnresolvedAttribute(parts=(name,)),):
            return name.lower() == "all"
        case _:
            return False


def _grouping_item(item: Expression, plan: Aggregate, context: Context) -> Expression:
    if isinstance(item, UnresolvedOrdinal):
        return _at_position(item.ordinal, plan.aggregates, item.origin)
    if item.resolved or not context.conf.flag("spark.sql.groupByAliases"):
        return without_alias(item)
    scope = context.scope(())
    return item.transform_up(lambda e: _aliased(e, plan.aggregates, scope))


def _aliased(expression: Expression, items: tuple[Expression, ...], scope: Scope) -> Expression:
    if not isinstance(expression, UnresolvedAttribute) or len(expression.parts) > 1:
        return expression
    for item in items:
        if isinstance(item, Alias | AttributeReference) and scope.same(
            item.name, expression.parts[0]
        ):
            return without_alias(item)
    return expression


def _at_position(position: int, items: tuple[Expression, ...], origin: Origin | None) -> Expression:
    if not 1 <= position <= len(items):
        raise failure("GROUP_BY_POS_OUT_OF_RANGE", origin=origin, index=position, size=len(items))
    item = items[position - 1]
    if has_aggregate(item):
        raise failure("GROUP_BY_POS_AGGREGATE", origin=origin, index=position, aggExpr=as_sql(item))
    return without_alias(item)


Sets = tuple[tuple[int, ...], ...]
ID = "spark_grouping_id"
POSITION = "_gen_grouping_pos"
_FUNCTIONS = ("grouping", "grouping_id")


def sets_of(plan: Aggregate) -> Sets:
    """The grouping sets of an aggregation as written, as positions among its keys."""
    assert plan.grouping_analytics is not None
    kind, entries = plan.grouping_analytics
    places = tuple(tuple(plan.grouping.index(key) for key in entry) for entry in entries)
    match kind:
        case "rollup":
            return tuple(_joined(places[:size]) for size in range(len(places), -1, -1))
        case "cube":
            chosen = product((True, False), repeat=len(places))
            return tuple(_joined(list(compress(places, flags))) for flags in chosen)
        case _:
            return places


def _joined(entries: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(place for entry in entries for place in entry))


def grouping_id(conf: Conf) -> AttributeReference:
    """The column of the id, fresh: a BIGINT, or an INT as it was before Spark 3.1."""
    short = conf.flag("spark.sql.legacy.integerGroupingId")
    return AttributeReference(name=ID, type_=INT if short else LONG, is_nullable=False)


def with_grouping_functions(
    items: tuple[Expression, ...],
    written: tuple[Expression, ...],
    resolver: Resolver,
    identity: AttributeReference,
) -> tuple[Expression, ...]:
    """A select list with `grouping(key)` and `grouping_id(...)` computed from the id's column.

    Raises:
        AnalysisError: an argument is none of the keys (GROUPING_COLUMN_MISMATCH), or the arguments
            of grouping_id are not all of them in order (GROUPING_ID_COLUMN_MISMATCH).
    """
    keys = [resolver.resolve(key) for key in written]
    return tuple(_item(item, keys, resolver, identity) for item in items)


def _item(
    item: Expression,
    keys: Sequence[Expression],
    resolver: Resolver,
    identity: AttributeReference,
) -> Expression:
    if not item.exists(is_grouping_call):
        return item

    def computed(node: Expression) -> Expression:
        if not isinstance(node, UnresolvedFunction) or not is_grouping_call(node):
            return node
        name, count = node.name.lower(), len(node.arguments)
        if name == "grouping" and count != 1:
            raise wrong_argument_count(name, "1", count, node.origin)
        arguments = [resolver.resolve(a) for a in node.arguments]
        if name == "grouping_id":
            _check_grouping_id(arguments, keys)
            return identity
        return _bit(arguments[0], keys, identity)

    if isinstance(item, UnresolvedAlias) and isinstance(item.child, UnresolvedFunction):
        call = item.child
        resolved = replace(call, arguments=tuple(resolver.resolve(a) for a in call.arguments))
        if is_grouping_call(call):
            shown = ", ".join(map(pretty, resolved.arguments))
            name = f"{call.name.lower()}({shown})"
            return Alias(child=computed(call), name=name, origin=item.origin)
    return item.transform_up(computed)


def is_grouping_call(node: Expression) -> bool:
    """Whether this is `grouping(key)` or `grouping_id(..)`, not computed yet."""
    return isinstance(node, UnresolvedFunction) and node.name.lower() in _FUNCTIONS


def _bit(
    argument: Expression,
    keys: Sequence[Expression],
    identity: AttributeReference,
) -> Expression:
    known = [canonical(key) for key in keys]
    if canonical(argument) not in known:
        raise failure(
            "GROUPING_COLUMN_MISMATCH",
            grouping=plan_text(argument),
            groupingColumns=",".join(map(plan_text, keys)),
        )
    shifted = call("shiftright", identity, lit(len(keys) - 1 - known.index(canonical(argument))))
    masked = call("&", shifted, Literal(value=1, type_=identity.type_))
    return Cast(child=masked, type_=BYTE, mode="ANSI")


def _key_text(key: Expression) -> str:
    """As `plan_text`, a time window under the name and an id of the column that it becomes."""
    if isinstance(key, TimeWindow | SessionWindow):
        name = "window" if isinstance(key, TimeWindow) else "session_window"
        key = AttributeReference(name=name, type_=key.data_type)
    return plan_text(key)


def _check_grouping_id(arguments: Sequence[Expression], keys: Sequence[Expression]) -> None:
    if not arguments or [*map(canonical, arguments)] == [*map(canonical, keys)]:
        return
    raise failure(
        "GROUPING_ID_COLUMN_MISMATCH",
        groupingIdColumn=",".join(map(_key_text, arguments)),
        groupByColumns=",".join(map(_key_text, keys)),
    )


def expand_grouping_sets(plan: Aggregate, sets: Sets, identity: AttributeReference) -> Aggregate:
    """A resolved aggregation by sets of its keys as one over an Expand."""
    keys, sets = _distinct_keys(plan.grouping, sets)
    aliases = tuple(_alias(key) for key in keys)
    sources = tuple(map(to_attribute, aliases))
    missing = {i for i in range(len(keys)) if any(i not in one for one in sets)}
    columns = tuple(
        replace(a.new_instance(), is_nullable=a.nullable or i in missing)
        for i, a in enumerate(sources)
    )
    repeated = len({frozenset(one) for one in sets}) < len(sets)
    position = AttributeReference(name=POSITION, type_=INT, is_nullable=False)
    by = (*columns, identity, *((position,) if repeated else ()))
    child: LogicalPlan = plan.child
    projections = tuple(
        (
            *child.output,
            *(a if i in one else Literal(value=None, type_=a.type_) for i, a in enumerate(sources)),
            Literal(value=_bits(one, len(keys)), type_=identity.type_),
            *((Literal(value=place, type_=INT),) if repeated else ()),
        )
        for place, one in enumerate(sets)
    )
    projected = Project(project_list=(*child.output, *aliases), child=child)
    expanded = Expand(projections=projections, attributes=(*child.output, *by), child=projected)
    replaced = _replacer(keys, columns)
    return replace(
        plan,
        grouping=by,
        aggregates=tuple(map(replaced, plan.aggregates)),
        child=expanded,
        grouping_analytics=None,
    )


def _distinct_keys(
    grouping: Sequence[Expression], sets: Sets
) -> tuple[tuple[Expression, ...], Sets]:
    """Keys that mean the same as one."""
    places: dict[object, int] = {}
    moved = [places.setdefault(canonical(key), len(places)) for key in grouping]
    kept = tuple(key for i, key in enumerate(grouping) if moved.index(moved[i]) == i)
    return kept, tuple(_joined([tuple(moved[i] for i in one)]) for one in sets)


def _alias(key: Expression) -> Alias:
    if isinstance(key, AttributeReference):
        return Alias(child=key, name=key.name, qualifier=key.qualifier)
    return Alias(child=key, name=pretty(key))


def _bits(one: tuple[int, ...], keys: int) -> int:
    return sum(1 << (keys - 1 - i) for i in range(keys) if i not in one)


def _named_anew(alias: Alias, child: Expression) -> Alias:
    """The entry over the key's column: it keeps its name, also one that is the column's own."""
    alias = replace(alias, child=child)
    if not isinstance(child, AttributeReference) or child.name != alias.name:
        return alias
    return replace(alias, explicit_metadata=replace(alias.metadata, generated=True))


def _replacer(
    keys: Sequence[Expression], columns: Sequence[AttributeReference]
) -> Callable[[Expression], Expression]:
    known = {canonical(key): column for key, column in zip(keys, columns, strict=True)}

    def replaced(expression: Expression) -> Expression:
        if isinstance(expression, AggregateExpression):
            return expression  # aggregates see the rows' own values
        if isinstance(expression, Alias):
            return _named_anew(expression, replaced(expression.child))
        column = known.get(canonical(expression))
        return expression.map_children(replaced) if column is None else column

    return replaced
