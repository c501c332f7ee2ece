"""Logical plans as Spark prints them: Catalyst's treeString.

A line starts with `'` while the operator is unresolved, with `~` over a stream. Children hang on
`+- `, all but the last on `:- `; plans inside expressions (subqueries) stand between the operator
and its children, indented by `   `.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence

from ..expressions.core import AttributeReference, Expression, Literal, SortOrder
from ..expressions.unresolved import UnresolvedAttribute
from ..frozen import dataclass
from ..plans.hints import ResolvedHint, UnresolvedHint
from ..plans.logical import (
    Aggregate,
    EventTimeWatermark,
    Expand,
    Generate,
    Join,
    Sort,
)
from ..plans.partitions import Sample
from ..plans.pivot import UnresolvedPivot
from ..plans.query_plan import LogicalPlan, UnresolvedLeaf
from ..plans.relations import (
    AnalyzedPlan,
    CTERelationDef,
    CTERelationRef,
    LocalRelation,
    OneRowRelation,
    Range,
    Relation,
    StreamingRelation,
    SubqueryAlias,
    UnresolvedRelation,
    UnresolvedTableFunction,
    UnresolvedWith,
    View,
)
from ..schemas.types import INT
from .fields_shown import MAX_FIELDS, cut
from .operator_text import alone, arguments, bracketed, listed, shown_text
from .text import plan_text
from .trees import tree_lines

Suffix = Callable[[LogicalPlan], str]


@dataclass(frozen=True, kw_only=True)
class _StreamingTable(UnresolvedLeaf):
    """The table of a NamedStreamingRelation, which Spark has below it."""

    parts: tuple[str, ...]


def tree_text(plan: LogicalPlan, max_fields: int = MAX_FIELDS, suffix: Suffix | None = None) -> str:
    """The plan's tree, one operator a line, without a line end at the end.

    Lists longer than `max_fields` (spark.sql.debug.maxToStringFields) are cut as Spark cuts them.
    A suffix stands behind each operator, after a comma.
    """

    def line(plan: LogicalPlan) -> str:
        text = f"{_prefix(plan)}{line_text(plan, max_fields)}".rstrip()
        return text if suffix is None else f"{text}, {suffix(plan)}"

    lines = tree_lines(
        _shown(plan),
        line=line,
        children=_children,
        inner=lambda plan: tuple(map(_shown, subplans(plan))),
    )
    return "\n".join(lines)


def _shown(plan: LogicalPlan) -> LogicalPlan:
    """Without the marks of what is analyzed already."""
    while isinstance(plan, AnalyzedPlan):
        plan = plan.child
    return plan


def _children(plan: LogicalPlan) -> tuple[LogicalPlan, ...]:
    if isinstance(plan, UnresolvedRelation) and plan.streaming:
        return (_StreamingTable(parts=plan.parts),)
    return tuple(map(_shown, plan.children))


def subplans(plan: LogicalPlan) -> Iterator[LogicalPlan]:
    """The plans inside the operator's own expressions, in order; those that WITH names."""
    if isinstance(plan, UnresolvedWith):
        yield from (definition for _, definition in plan.definitions)
    for expression in plan.expressions:
        for node in expression.walk():
            inner = getattr(node, "plan", None)
            if isinstance(inner, LogicalPlan):
                yield inner


def _prefix(plan: LogicalPlan) -> str:
    if isinstance(plan, View | StreamingRelation | UnresolvedWith):
        return ""
    if not plan.resolved:
        return "'"
    if plan.missing_input:
        return "!"
    return "~" if plan.is_streaming else ""


def line_text(plan: LogicalPlan, limit: int = MAX_FIELDS) -> str:
    """The operator's own line, without prefix."""
    match plan:
        case UnresolvedRelation(parts=parts, streaming=streaming):
            if streaming:
                return "NamedStreamingRelation name=<Unassigned>"
            return f"UnresolvedRelation [{', '.join(parts)}], [], false"
        case _StreamingTable(parts=parts):
            return f"UnresolvedRelation [{'.'.join(parts)}], [], true"
        case StreamingRelation(format=source, attributes=attributes):
            return f"StreamingRelation {source}, {bracketed(attributes, limit)}, name=<Unassigned>"
        case Relation(format=source, attributes=attributes):
            return f"Relation {bracketed(attributes, limit, ',')} {source}"
        case LocalRelation(attributes=attributes, rows=rows):
            columns = arguments(None if rows else "<empty>", listed(attributes, limit))
            return f"LocalRelation {columns}".rstrip()
        case OneRowRelation():
            return "OneRowRelation"
        case View(name=name):
            return f"View (`{name}`, {bracketed(plan.output, limit)})"
        case SubqueryAlias(alias=alias):
            return f"SubqueryAlias {alias}"
        case UnresolvedHint(name=name, tables=tables, parameters=parameters):
            names = (plan_text(UnresolvedAttribute(parts=parts)) for parts in tables)
            return f"UnresolvedHint {name}, [{', '.join((*names, *map(plan_text, parameters)))}]"
        case ResolvedHint(strategy=strategy):
            return f"ResolvedHint (strategy={strategy.lower()})"
        case CTERelationDef(cte_id=cte_id):
            return f"CTERelationDef {cte_id}, false"
        case CTERelationRef(cte_id=cte_id, attributes=attributes):
            stream = str(plan.is_streaming).lower()
            return f"CTERelationRef {cte_id}, true, {bracketed(attributes, limit)}, {stream}, false"
        case UnresolvedWith(definitions=definitions):
            return f"CTE [{', '.join(name for name, _ in definitions)}]"
        case _:
            kind, shown = _arguments(plan, limit)
            return f"{kind} {arguments(*shown)}".rstrip()


def _arguments(plan: LogicalPlan, limit: int) -> tuple[str, Sequence[str | None]]:
    """An operator's name and arguments; empty ones are left out."""
    kind = plan.node_name
    match plan:
        case Aggregate(grouping=grouping, aggregates=aggregates):
            analytics = plan.grouping_analytics
            if analytics is None:
                shown = _cut_list(_keys(plan, grouping), limit) if grouping else ""
            else:
                shown = f"[{_sets_text(*analytics)}]"
            return kind, [shown, bracketed(aggregates, limit)]
        case Sort(order=order, is_global=is_global):
            return kind, [_cut_list(_keys(plan, order), limit), str(is_global).lower()]
        case Join(join_type=join_type, condition=condition):
            match_on = shown_text(condition, limit)
            sides = zip(("left", "right"), plan.hint, strict=True)
            hints = [f"{side}Hint=(strategy={name.lower()})" for side, name in sides if name]
            return kind, [_join_type(plan, join_type), match_on, *hints]
        case Sample(lower=lower, upper=upper, with_replacement=again, seed=seed):
            bounds = [str(lower), str(upper), str(again).lower()]
            return kind, [*bounds, str(seed), "Poisson" if again else "Bernoulli"]
        case Expand(projections=projections, attributes=attributes):
            shown = _cut_list((bracketed(p, limit) for p in projections), limit)
            return kind, [shown, bracketed(attributes, limit)]
        case EventTimeWatermark(event_time=event_time, delay_text=delay, node_id=node_id):
            if not isinstance(event_time, AttributeReference):
                return "UnresolvedEventTimeWatermark", [alone(event_time, limit), delay]
            return kind, [node_id, alone(event_time, limit), delay]
        case Generate():
            return kind, _generate(plan, limit)
        case Range(start=start, end=end, step=step, slices=slices):
            splits = "None" if slices is None else f"Some({slices})"
            return kind, [f"({start}, {end}, step={step}, splits={splits})"]
        case UnresolvedTableFunction(name=name, arguments=given):
            return "UnresolvedTableValuedFunction", [f"[{name}]", bracketed(given, limit), "false"]
        case UnresolvedPivot(column=column, values=values, aggregates=aggregates):
            lists = bracketed(values, limit), bracketed(aggregates, limit)
            return "Pivot", [plan_text(column), *lists]
        case _:
            return kind, [shown_text(getattr(plan, name), limit) for name in plan.shown]


def _cut_list(texts: Iterable[str], limit: int) -> str:
    return f"[{cut(list(texts), limit)}]"


def _keys(plan: LogicalPlan, keys: Iterable[Expression]) -> Iterator[str]:
    """Keys of groups or of an order; numbers are positions in the select list until analysis."""
    for key in keys:
        place = key.child if isinstance(key, SortOrder) else key
        text = plan_text(key)
        if not plan.resolved and isinstance(place, Literal) and place.type_ == INT:
            number = plan_text(place)
            text = f"unresolvedordinal({number}){text.removeprefix(number)}"
        yield text


def _sets_text(kind: str, sets: tuple[tuple[Expression, ...], ...]) -> str:
    """`cube(Vector(0), Vector(1), 'a, 'b)`: where each set's columns stand behind the sets."""
    columns = [plan_text(column) for columns in sets for column in columns]
    places = itertools.count()
    vectors = [f"Vector({', '.join(str(next(places)) for _ in one)})" for one in sets]
    return f"{kind.replace(' ', '')}({', '.join((*vectors, *columns))})"


def _join_type(join: Join, join_type: str) -> str:
    if join.natural:
        return f"NaturalJoin({join_type})"
    if join.mark is not None:
        return f"{join_type}({plan_text(join.mark)})"
    if join.using:
        return f"UsingJoin({join_type}, [{', '.join(join.using)}])"
    return join_type


def _generate(plan: Generate, limit: int) -> list[str | None]:
    unrequired = ""
    if plan.required is not None:
        kept = {a.expr_id for a in plan.required}
        dropped = [str(i) for i, a in enumerate(plan.child.output) if a.expr_id not in kept]
        unrequired = _cut_list(dropped, limit) if dropped else ""
    generated = listed(plan.generated, limit)
    names = [e for e in plan.generated if isinstance(e, UnresolvedAttribute)]
    if names and len(names) == len(plan.generated):
        generated = _cut_list(("'" + ".".join(e.parts) for e in names), limit)
    outer = str(plan.outer).lower()
    return [plan_text(plan.generator), unrequired, outer, plan.alias or "", generated]
