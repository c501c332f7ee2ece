"""What a join's condition says of one side alone though it is no conjunct of it."""

from __future__ import annotations

from ....planner.model.expressions.core import Call, Expression
from ....planner.model.expressions.equality import ExpressionSet
from ....planner.model.expressions.predicates import conjunction, disjunction, split_conjuncts
from ....planner.model.plans.logical import Filter, Join
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.settings.conf import Conf
from ....planner.model.tree import replace
from ...common.trees import top_down
from ..expressions.booleans import simplify_booleans
from ..expressions.constants import fold
from ..support import settings
from ..support.calls import is_call
from ..support.constraints import constraints

_BOTH = ("Inner", "Cross", "LeftSemi")
_LEFT = (*_BOTH, "RightOuter")
_RIGHT = (*_BOTH, "LeftOuter", "LeftAnti", "ExistenceJoin")


@top_down(Join)
def push_disjunctions(node: Join, conf: Conf) -> LogicalPlan:
    """`Join l.a = 1 AND r.b = 1 OR l.a = 2 AND r.b = 2` filters its left side by `a = 1 OR a = 2`.

    And its right side likewise; a side whose rows the join keeps in any case is not filtered. The
    condition stays (Spark's PushExtraPredicateThroughJoin). What a side has been filtered by is
    left out, so idempotent where its filters stay in sight; nevertheless to be run once.
    """
    if node.condition is None:
        return node
    left, right = node.left.output_ids, node.right.output_ids
    mixed = [
        e
        for e in split_conjuncts(node.condition)
        if e.deterministic
        and e.references
        and not e.references <= left
        and not e.references <= right
    ]
    if not mixed:
        return node
    left_side = _side(node.left, mixed) if node.join_type in _LEFT else node.left
    right_side = _side(node.right, mixed) if node.join_type in _RIGHT else node.right
    if left_side is node.left and right_side is node.right:
        return node
    return replace(node, left=left_side, right=right_side)


@top_down(Filter)
def clean_filters(node: Filter, conf: Conf) -> LogicalPlan:
    """`Filter (a OR b) OR a` -> `Filter a OR b`: what came late is simplified once more.

    Connectives first, constants then, each once: `isnotnull(a) AND 1 = 1` keeps its `true`.
    """
    excluded = settings.current().excluded
    simple = node.condition
    if "simplify_booleans" not in excluded:
        simple = simple.transform_up(_connected)
    if "fold" not in excluded:
        simple = simple.transform_up(fold)
    return node if simple is node.condition else replace(node, condition=simple)


def _connected(expression: Expression) -> Expression:
    connective = isinstance(expression, Call) and expression.name in ("and", "or", "not")
    return simplify_booleans(expression) if connective else expression


def _side(plan: LogicalPlan, conditions: list[Expression]) -> LogicalPlan:
    found = [_about(e, plan.output_ids) for e in conditions]
    new = [e for e in found if e is not None]
    if not new:
        return plan
    known = list(ExpressionSet(new).without(constraints(plan)))
    return Filter(child=plan, condition=conjunction(known)) if known else plan


def _about(condition: Expression, columns: frozenset[int]) -> Expression | None:
    """What follows for these columns alone, if anything does."""
    if is_call(condition, "and") or is_call(condition, "or"):
        parts = [_about(child, columns) for child in condition.children]
        known = [part for part in parts if part is not None]
        if is_call(condition, "or") and len(known) < len(parts):
            return None
        if not known:
            return None
        return conjunction(known) if is_call(condition, "and") else disjunction(known)
    return condition if condition.references <= columns else None
