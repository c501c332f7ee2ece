"""Comparisons of an expression with itself, or with true and false."""

from __future__ import annotations

from ....planner.model.expressions.core import Call, Expression
from ....planner.model.expressions.equality import canonical, same
from ....planner.model.expressions.predicates import split_conjuncts
from ....planner.model.plans.logical import Filter
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.settings.conf import Conf
from ....planner.model.tree import replace
from ..support.calls import is_comparison, is_false, is_true, negate, truth


def simplify_comparisons(expression: Expression) -> Expression:
    """`a = true` -> `a`, `a = false` -> `NOT a`, `a <=> a` -> `true`, `a >= a` -> `true`.

    A comparison with itself is decided only where the operand cannot be null.
    """
    assert isinstance(expression, Call)
    left, right = expression.arguments
    if same(left, right):
        if expression.name == "<=>":
            return truth(True)
        if not left.nullable and not right.nullable:
            return truth(_allows_equal(expression))
    if expression.name not in ("=", "<=>"):
        return expression
    for constant, other in ((right, left), (left, right)):
        if expression.name == "<=>" and other.nullable:
            continue
        if is_true(constant):
            return other
        if is_false(constant):
            return negate(other)
    return expression


def _allows_equal(comparison: Call) -> bool:
    """Whether it is true of equal sides: all but `<` and `>` are."""
    return comparison.name not in ("<", ">")


def simplify_comparisons_below_null_checks(plan: LogicalPlan, conf: Conf) -> LogicalPlan:
    """`Filter (isnotnull(a) AND (a <= a))` -> `Filter (isnotnull(a) AND true)`. Idempotent."""
    node = plan.map_children(lambda child: simplify_comparisons_below_null_checks(child, conf))
    if not isinstance(node, Filter):
        return node
    known = {
        canonical(part.arguments[0])
        for part in split_conjuncts(node.condition)
        if isinstance(part, Call) and part.name == "isnotnull"
    }

    def decided(expression: Expression) -> Expression:
        if isinstance(expression, Call) and is_comparison(expression):
            left, right = expression.arguments
            if same(left, right) and canonical(left) in known:
                return truth(_allows_equal(expression))
        return expression

    condition = node.condition.transform_up(decided) if known else node.condition
    return node if condition is node.condition else replace(node, condition=condition)
