"""Calls of Python functions get operators of their own: generated code cannot make them."""

from __future__ import annotations

from collections.abc import Iterator

from ....planner.model.errors import PlanningError
from ....planner.model.expressions.core import (
    AggregateExpression,
    Alias,
    AttributeReference,
    Expression,
    to_attribute,
)
from ....planner.model.expressions.equality import Canonical, canonical
from ....planner.model.expressions.predicates import (
    conjunction,
    conjunction_or_none,
    parted,
    split_conjuncts,
)
from ....planner.model.expressions.python_functions import PythonUDF
from ....planner.model.plans.join_types import INNER_JOINS
from ....planner.model.plans.logical import (
    Aggregate,
    Filter,
    Generate,
    Join,
    LocalLimit,
    Project,
)
from ....planner.model.plans.python_operators import EvaluatePython, PythonOperator
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.settings.conf import Conf
from ....planner.model.text.quoting import to_sql_join
from ....planner.model.tree import replace
from ...common.trees import bottom_up, filtered_below, top_down, with_output
from .limits import max_rows_per_partition


def extract_python_functions(plan: LogicalPlan, conf: Conf) -> LogicalPlan:
    """Calls move to an EvaluatePython below the operator, which then uses their results.

    `Project [f(a) + 1]` -> `Project [pythonUDF0 + 1], EvaluatePython [f(a)], [pythonUDF0]`. Calls
    of one kind over one input run together; a call within another of its kind stays there.
    Idempotent: afterwards only EvaluatePython has calls.

    Raises:
        PlanningError: an aggregate function in Python over a stream.
    """
    if not _has_calls(plan):
        return plan
    return plan.transform_up(_after_aggregates).transform_up(_extract_from)


def _has_calls(plan: LogicalPlan) -> bool:
    return any(
        expression.holds(PythonUDF)
        for operator in plan.walk()
        if not isinstance(operator, EvaluatePython | PythonOperator)
        for expression in operator.expressions
    )


def _is_call(expression: Expression) -> bool:
    return isinstance(expression, PythonUDF) and expression.kind in ("batched", "arrow")


# ---------------------------------------------------------------------------------- in conditions


@bottom_up(Join)
def extract_python_from_joins(node: Join, conf: Conf) -> LogicalPlan:
    """Calls over columns of both sides leave a join's condition for a Filter above it.

    Raises:
        PlanningError: the join keeps rows without a match, so that a Filter would drop them.
    """
    if node.condition is None:
        return node
    parts = split_conjuncts(node.condition)
    left, right = node.left.output_ids, node.right.output_ids

    def spans(call: Expression) -> bool:
        return _is_call(call) and not (call.references <= left or call.references <= right)

    moved = [part for part in parts if part.exists(spans)]
    if not moved:
        return node
    if node.join_type not in INNER_JOINS:
        condition = "UNSUPPORTED_FEATURE.PYTHON_UDF_IN_ON_CLAUSE"
        raise PlanningError.of(condition, joinType=to_sql_join(node.join_type))
    kept = conjunction_or_none([part for part in parts if part not in moved])
    return Filter(child=replace(node, condition=kept), condition=conjunction(moved))


# ------------------------------------------------------------------------- over aggregate functions


def _after_aggregates(node: LogicalPlan) -> LogicalPlan:
    """Calls over an aggregation's results move to a Project above it."""
    if not isinstance(node, Aggregate):
        return node
    for expression in node.aggregates:
        for part in expression.collect(AggregateExpression):
            if isinstance(part.function, PythonUDF) and node.is_streaming:
                raise PlanningError.of("_LEGACY_ERROR_TEMP_3067")
    keys = {canonical(key) for key in node.grouping}
    if not any(_over_results(e, keys) for item in node.aggregates for e in item.walk()):
        return node
    below: list[Expression] = []
    above: list[Expression] = []
    known: dict[Canonical, AttributeReference] = {}

    def taken(expression: Expression) -> Expression:
        """What the aggregation itself computes of an entry, as its column."""
        if isinstance(expression, AggregateExpression) or canonical(expression) in keys:
            column = known.get(canonical(expression))
            if column is None:
                item = expression
                if not isinstance(item, AttributeReference):
                    item = Alias(child=expression, name="agg")
                below.append(item)
                column = known[canonical(expression)] = to_attribute(item)
            return column
        return expression.map_children(taken)

    for item in node.aggregates:
        if any(_over_results(e, keys) for e in item.walk()):
            above.append(item.map_children(taken))
        else:
            below.append(item)
            above.append(to_attribute(item))
    return Project(child=replace(node, aggregates=tuple(below)), project_list=tuple(above))


def _over_results(expression: Expression, keys: set[Canonical]) -> bool:
    return _is_call(expression) and (
        not expression.references
        or expression.exists(lambda e: isinstance(e, AggregateExpression) or canonical(e) in keys)
    )


# ------------------------------------------------------------------------------------- extraction


def _extract_from(node: LogicalPlan) -> LogicalPlan:
    if isinstance(node, EvaluatePython | PythonOperator):
        return node
    available = frozenset().union(*(child.output_ids for child in node.children))
    calls = {
        canonical(call): call
        for call in _evaluable(node.expressions)
        if call.references <= available
    }
    if not calls:
        return node
    results: dict[Canonical, AttributeReference] = {}

    def over(child: LogicalPlan) -> LogicalPlan:
        mine = {
            key: call
            for key, call in calls.items()
            if key not in results and call.references <= child.output_ids
        }
        if not mine:
            return child
        columns = tuple(
            AttributeReference(name=f"pythonUDF{place}", type_=call.data_type)
            for place, call in enumerate(mine.values())
        )
        results.update(zip(mine, columns, strict=True))
        return EvaluatePython(child=child, functions=tuple(mine.values()), results=columns)

    output = node.output
    node = node.map_children(over)
    if not results:
        return node
    node = node.map_expressions(lambda e: _replaced(e, results))
    if isinstance(node, Generate) and node.required is not None:
        # It says which columns it leaves out: the new ones are not among them.
        node = replace(node, required=(*node.required, *results.values()))
    return with_output(_extract_from(node), output)


def _replaced(expression: Expression, results: dict[Canonical, AttributeReference]) -> Expression:
    if _is_call(expression):
        found = results.get(canonical(expression))
        if found is not None:
            return found
    return expression.map_children(lambda child: _replaced(child, results))


_ALONE = frozenset((204, 251))
"""The `exact_kind` of functions over iterators of pandas or Arrow batches."""


def _evaluable(expressions: tuple[Expression, ...]) -> Iterator[PythonUDF]:
    """The calls that can be made now: all of the first one's kind, with arguments without calls.

    Of functions over iterators it is the first one alone.
    """
    first: int | None = None

    def visit(expression: Expression) -> Iterator[PythonUDF]:
        nonlocal first
        if (
            isinstance(expression, PythonUDF)
            and _is_call(expression)
            and first not in _ALONE
            and first in (None, expression.exact_kind)
            and _can_evaluate(expression)
        ):
            first = expression.exact_kind
            yield expression
            return
        for child in expression.children:
            yield from visit(child)

    for expression in expressions:
        yield from visit(expression)


def _can_evaluate(call: PythonUDF) -> bool:
    """A chain of calls of one kind, or no call within."""
    match call.arguments:
        case (PythonUDF(exact_kind=kind) as only,) if kind == call.exact_kind and _is_call(only):
            return _can_evaluate(only)
        case arguments:
            return not any(_is_call(e) for argument in arguments for e in argument.walk())


# ------------------------------------------------------------------------ through what was made


@top_down(LogicalPlan, holding=(EvaluatePython,))
def push_through_python(node: LogicalPlan, conf: Conf) -> LogicalPlan:
    """Filters that need no result of a call, and limits per partition, move below the calls."""
    match node:
        case Filter(child=EvaluatePython() as calls):
            return _push_filter(node, calls)
        case LocalLimit(child=EvaluatePython() as calls):
            below = _limited(calls, node)
            return node if below is calls else replace(node, child=below)
        case LocalLimit(child=Project(child=EvaluatePython() as calls) as project):
            below = _limited(calls, node)
            return node if below is calls else replace(node, child=replace(project, child=below))
    return node


def _limited(calls: EvaluatePython, limit: LocalLimit) -> EvaluatePython:
    rows = max_rows_per_partition(calls.child)
    most = getattr(limit.limit, "value", None)
    if rows is not None and isinstance(most, int) and rows <= most:
        return calls
    return replace(calls, child=LocalLimit(child=calls.child, limit=limit.limit))


def _push_filter(node: Filter, calls: EvaluatePython) -> LogicalPlan:
    parts = split_conjuncts(node.condition)
    known = calls.child.output_ids
    down, rest = parted(parts, lambda e: e.deterministic and e.references <= known)
    return filtered_below(calls, down, rest) if down else node
