"""Filters that follow from others."""

from __future__ import annotations

from ....planner.model.expressions.core import AttributeReference, Call, Expression, lit
from ....planner.model.expressions.equality import ExpressionSet
from ....planner.model.expressions.predicates import conjunction, split_conjuncts
from ....planner.model.plans.logical import Filter, Generate, Join
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.settings.conf import Conf
from ....planner.model.tree import replace
from ...common.trees import bottom_up, rewrite_down
from ..support.calls import call
from ..support.constraints import constraints, from_equalities, not_null


@bottom_up(Generate)
def infer_filters_from_generators(node: Generate, conf: Conf) -> LogicalPlan:
    """A generator that drops empty arrays has only rows with full ones below.

    `Generate explode(a), child` -> `Generate explode(a), Filter size(a) > 0 AND isnotnull(a)`.
    Not for outer generators, and only where the argument is a column. Idempotent.
    """
    if node.outer:
        return node
    generator = node.generator
    if not isinstance(generator, Call) or not generator.spec.collection_generator:
        return node
    argument = generator.arguments[0]
    if not isinstance(argument, AttributeReference):
        return node
    size = Call(name="size", arguments=(argument,), ansi=conf.ansi)
    new = ExpressionSet([call(">", size, lit(0)), call("isnotnull", argument)]).without(
        constraints(node.child)
    )
    if not len(new):
        return node
    return replace(node, child=Filter(child=node.child, condition=conjunction(list(new))))


def infer_filters_from_constraints(plan: LogicalPlan, conf: Conf) -> LogicalPlan:
    """Filters and join sides get the conditions that follow from theirs.

    `Filter a > 5` -> `Filter isnotnull(a) AND a > 5`; an inner join on `a = b` filters both sides
    for `isnotnull`, and the one by what is known of the other. What the input guarantees is left
    out. Not with `spark.sql.constraintPropagation.enabled` off. Idempotent.
    """
    if not conf.flag("spark.sql.constraintPropagation.enabled"):
        return plan
    return rewrite_down(plan, _infer, frozenset((Filter, Join)))


def _infer(node: LogicalPlan) -> LogicalPlan:
    if isinstance(node, Filter):
        known = constraints(node.child).union(split_conjuncts(node.condition))
        new = list(constraints(node).without(known))
        if not new:
            return node
        return replace(node, condition=call("and", conjunction(new), node.condition))
    if isinstance(node, Join):
        return _infer_join(node)
    return node


def _infer_join(node: Join) -> LogicalPlan:
    match node.join_type:
        case "Inner" | "Cross" | "LeftSemi":
            sides = (True, True)
        case "RightOuter":
            sides = (True, False)
        case "LeftOuter" | "LeftAnti":
            sides = (False, True)
        case _:
            return node
    conjuncts = split_conjuncts(node.condition)
    stated = constraints(node.left).union(constraints(node.right)).union(conjuncts)
    known = stated.union(from_equalities(stated))
    left = _filtered(node.left, known) if sides[0] else node.left
    right = _filtered(node.right, known) if sides[1] else node.right
    if left is node.left and right is node.right:
        return node
    return replace(node, left=left, right=right)


def _filtered(plan: LogicalPlan, known: ExpressionSet) -> LogicalPlan:
    output = plan.output_ids
    candidates: list[Expression] = [
        e
        for e in known.union(not_null(known, plan.output))
        if e.references and e.references <= output and e.deterministic
    ]
    new = list(ExpressionSet(candidates).without(constraints(plan)))
    return Filter(child=plan, condition=conjunction(new)) if new else plan
