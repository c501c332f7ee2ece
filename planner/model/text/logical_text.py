"""Logical plans as Spark prints them: Catalyst's treeString.

A line starts with `'` while the operator is unresolved, with `~` over a stream. Children hang on
`+- `, all but the last on `:- `; plans inside expressions (subqueries) stand between the operator
and its children, indented by `   `.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator

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
from ..plans.python_operators import field_text
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
from ..schemas.types import INT, StructType
from .text import plan_text
from .trees import tree_lines

MAX_FIELDS = 25
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


def listed(items: Iterable[str], limit: int, *, separator: str = ", ") -> str:
    """`[a, b, c]`, cut after `limit - 1` items with a word on how many more there are."""
    texts = list(items)
    if len(texts) > limit:
        kept = max(0, limit - 1)
        texts = [*texts[:kept], f"... {len(texts) - kept} more fields"]
    return f"[{separator.join(texts)}]"


def argument_text(expression: Expression) -> str:
    """An expression that stands by itself in a line: a column then shows its type."""
    if isinstance(expression, AttributeReference):
        return f"{expression.name}#{expression.expr_id}: {expression.type_.simple}"
    return plan_text(expression)


def _list(expressions: Iterable[Expression], limit: int) -> str:
    return listed((plan_text(e) for e in expressions), limit)


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
            return f"StreamingRelation {source}, {_list(attributes, limit)}, name=<Unassigned>"
        case Relation(format=source, attributes=attributes):
            columns = listed((plan_text(a) for a in attributes), limit, separator=",")
            return f"Relation {columns} {source}"
        case LocalRelation(attributes=attributes, rows=rows):
            empty = "" if rows else "<empty>, "
            columns = _list(attributes, limit) if attributes else ""
            return f"LocalRelation {empty}{columns}".rstrip(", ")
        case OneRowRelation():
            return "OneRowRelation"
        case View(name=name):
            return f"View (`{name}`, {_list(plan.output, limit)})"
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
            return f"CTERelationRef {cte_id}, true, {_list(attributes, limit)}, {stream}, false"
        case UnresolvedWith(definitions=definitions):
            return f"CTE [{', '.join(name for name, _ in definitions)}]"
        case _:
            name, arguments = _arguments(plan, limit)
            return f"{name} {', '.join(a for a in arguments if a)}".rstrip()


def _arguments(plan: LogicalPlan, limit: int) -> tuple[str, list[str]]:
    """An operator's name and arguments; empty ones are left out."""
    kind = plan.node_name
    match plan:
        case Aggregate(grouping=grouping, aggregates=aggregates):
            analytics = plan.grouping_analytics
            if analytics is None:
                shown = listed(_keys(plan, grouping), limit) if grouping else ""
            else:
                shown = f"[{_sets_text(*analytics)}]"
            return kind, [shown, _list(aggregates, limit)]
        case Sort(order=order, is_global=is_global):
            return kind, [listed(_keys(plan, order), limit), str(is_global).lower()]
        case Join(join_type=join_type, condition=condition):
            shown = "" if condition is None else argument_text(condition)
            sides = zip(("left", "right"), plan.hint, strict=True)
            hints = [f"{side}Hint=(strategy={name.lower()})" for side, name in sides if name]
            return kind, [_join_type(plan, join_type), shown, *hints]
        case Sample(lower=lower, upper=upper, with_replacement=again, seed=seed):
            bounds = [str(lower), str(upper), str(again).lower()]
            return kind, [*bounds, str(seed), "Poisson" if again else "Bernoulli"]
        case Expand(projections=projections, attributes=attributes):
            shown = listed((_list(p, limit) for p in projections), limit)
            return kind, [shown, _list(attributes, limit)]
        case EventTimeWatermark(event_time=event_time, delay_text=delay, node_id=node_id):
            if not isinstance(event_time, AttributeReference):
                return "UnresolvedEventTimeWatermark", [argument_text(event_time), delay]
            return kind, [node_id, argument_text(event_time), delay]
        case Generate():
            return kind, _generate(plan, limit)
        case Range(start=start, end=end, step=step, slices=slices):
            splits = "None" if slices is None else f"Some({slices})"
            return kind, [f"({start}, {end}, step={step}, splits={splits})"]
        case UnresolvedTableFunction(name=name, arguments=arguments):
            return "UnresolvedTableValuedFunction", [f"[{name}]", _list(arguments, limit), "false"]
        case UnresolvedPivot(column=column, values=values, aggregates=aggregates):
            return "Pivot", [plan_text(column), _list(values, limit), _list(aggregates, limit)]
        case _:
            return kind, [_value_text(getattr(plan, name), limit) for name in plan.shown]


def _value_text(value: object, limit: int) -> str:
    """What a line shows of a field's value: nothing of an empty list."""
    match value:
        case None | ():
            return ""
        case bool():
            return str(value).lower()
        case Expression():
            return argument_text(value)
        case tuple():
            return _list(value, limit)
        case StructType(fields=fields):
            return listed(map(field_text, fields), limit) if fields else ""
        case _:
            return str(value)


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


def _generate(plan: Generate, limit: int) -> list[str]:
    unrequired = ""
    if plan.required is not None:
        kept = {a.expr_id for a in plan.required}
        dropped = [str(i) for i, a in enumerate(plan.child.output) if a.expr_id not in kept]
        unrequired = listed(dropped, limit) if dropped else ""
    generated = _list(plan.generated, limit) if plan.generated else ""
    names = [e for e in plan.generated if isinstance(e, UnresolvedAttribute)]
    if names and len(names) == len(plan.generated):
        generated = listed(("'" + ".".join(e.parts) for e in names), limit)
    outer = str(plan.outer).lower()
    return [plan_text(plan.generator), unrequired, outer, plan.alias or "", generated]
