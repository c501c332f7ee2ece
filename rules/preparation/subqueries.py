"""Subqueries, planned as the plan that asks for them; equal subqueries and exchanges run once."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Hashable, Iterator

from ...physical.basic import AdaptiveSparkPlanExec, EventTimeWatermarkExec
from ...physical.exchange import BroadcastExchangeExec, ReusedExchangeExec, ShuffleExchangeExec
from ...physical.plan import SparkPlan, StatefulOperator
from ...physical.subqueries import PlannedSubquery, ReusedSubqueryExec, SubqueryExec
from ...planner.model.expressions.core import Expression
from ...planner.model.expressions.equality import signature
from ...planner.model.expressions.subqueries import ScalarSubquery, SubqueryExpression
from ...planner.model.tree import replace
from .codegen import adapts
from .execution import Execution

Prepare = Callable[[SparkPlan, Execution], SparkPlan]


def plan_subqueries(plan: SparkPlan, execution: Execution, prepare: Prepare) -> SparkPlan:
    """Each subquery in the plan's expressions becomes a `Subquery` with an executed plan.

    In a plan that is re-planned while it runs, so is the subquery.
    """
    if not plan.uses(SubqueryExpression):
        return plan
    inner = copy.copy(execution)
    inner.adaptive = adapts(plan, execution)
    inner.watermark_late = inner.watermark_eviction = None
    numbers = itertools.count(1)
    done: dict[int, PlannedSubquery] = {}

    def planned(expression: Expression) -> Expression:
        if not isinstance(expression, ScalarSubquery):
            return expression
        if expression.expr_id not in done:
            done[expression.expr_id] = _planned(expression, inner, prepare, numbers)
        return done[expression.expr_id]

    return plan.transform_up(lambda node: node.transform_expressions(planned))


def _planned(
    subquery: ScalarSubquery, execution: Execution, prepare: Prepare, ids: Iterator[int]
) -> PlannedSubquery:
    plan = prepare(execution.plan_subquery(subquery.plan), execution)
    kind = "subquery" if execution.adaptive else "scalar-subquery"
    name = f"{kind}#{subquery.expr_id}"
    node = SubqueryExec(name=name, plan_id=next(ids), child=plan)
    return PlannedSubquery(plan=node, type_=subquery.data_type, expr_id=subquery.expr_id)


def reuse_subqueries(plan: SparkPlan, execution: Execution) -> SparkPlan:
    """Of subqueries with the same plan the first one runs; not where plans adapt, which find out.

    `s1 + s2` -> `s1 + ReusedSubquery s1`. Idempotent.
    """
    if not plan.uses(PlannedSubquery) or isinstance(plan, AdaptiveSparkPlanExec):
        return plan
    seen: dict[Hashable, SubqueryExec] = {}

    def reused(expression: Expression) -> Expression:
        if not isinstance(expression, PlannedSubquery):
            return expression
        subquery = expression.plan
        if not isinstance(subquery, SubqueryExec):
            return expression
        key = signature(subquery.child, {})
        first = seen.get(key)
        if first is None:
            seen[key] = subquery
            return expression
        return replace(expression, plan=ReusedSubqueryExec(subquery=first))

    return plan.transform_up(lambda node: node.transform_expressions(reused))


def reuse_exchanges(plan: SparkPlan, execution: Execution) -> SparkPlan:
    """Replace an exchange by the first one to the left or below that moves the same rows.

    The same: equal but for the ids and names of columns. `Union(Exchange(a), Exchange(a))` becomes
    `Union(Exchange(a), ReusedExchange)`. Operators with state are never the same, and watermarks
    only where a definition is used twice. Idempotent.
    """
    # On a single chain one exchange lies within the other: they cannot be the same.
    # A plan that adapts finds out while it runs.
    chain = all(len(node.children) < 2 for node in plan.walk())
    if chain or isinstance(plan, AdaptiveSparkPlanExec):
        return plan
    found = (*plan.collect(ShuffleExchangeExec), *plan.collect(BroadcastExchangeExec))
    if len(set(map(_outline, found))) == len(found):
        return plan
    seen: dict[Hashable, ShuffleExchangeExec | BroadcastExchangeExec] = {}

    def reused(node: SparkPlan) -> SparkPlan:
        rows: Hashable = None
        if isinstance(node, ShuffleExchangeExec | BroadcastExchangeExec):
            rows = signature(node, {})
            if rows in seen:
                return ReusedExchangeExec(exchange=seen[rows], attributes=node.output)
        new = node.map_children(reused)
        if isinstance(new, ShuffleExchangeExec | BroadcastExchangeExec):
            seen[rows] = new
        return new

    return reused(plan)


def _outline(exchange: SparkPlan) -> Hashable:
    """Quick to compute, and equal for equal exchanges."""
    return tuple((type(node), _identity(node)) for node in exchange.walk())


def _identity(node: SparkPlan) -> Hashable:
    if isinstance(node, EventTimeWatermarkExec):
        return node.node_id
    if isinstance(node, StatefulOperator) and node.state_info is not None:
        return node.state_info.operator_id
    return None
