"""Filters that follow from others, and filters that decide nothing."""

from __future__ import annotations

from ....planner.model.expressions.core import AttributeReference, Call, Expression, lit
from ....planner.model.expressions.equality import ExpressionSet
from ....planner.model.expressions.predicates import conjunction, disjunction, split_conjuncts
from ....planner.model.functions.build import call, is_call, is_false, is_null, is_true
from ....planner.model.plans.logical import Filter, Generate, Join
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.settings.conf import Conf
from ....planner.model.tree import replace
from ...common.trees import bottom_up, filtered, filtered_below, top_down, with_sides
from ..expressions.conditions import simplify_booleans
from ..expressions.constants import fold
from ..operators.local_relations import empty_like
from ..support import settings
from ..support.constraints import constraints, from_equalities, not_null

# The joins that drop rows of a side which finds no match.
_BOTH = ("Inner", "Cross", "LeftSemi")
_LEFT = (*_BOTH, "RightOuter")
_RIGHT = (*_BOTH, "LeftOuter", "LeftAnti")


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
    wanted = ExpressionSet([call(">", size, lit(0)), call("isnotnull", argument)])
    new = list(wanted.without(constraints(node.child)))
    return filtered_below(node, new) if new else node


@top_down(Filter, Join)
def infer_filters_from_constraints(node: Filter | Join, conf: Conf) -> LogicalPlan:
    """Filters and join sides get the conditions that follow from theirs.

    `Filter a > 5` -> `Filter isnotnull(a) AND a > 5`; an inner join on `a = b` filters both sides
    for `isnotnull`, and the one by what is known of the other. What the input guarantees is left
    out. Not with `spark.sql.constraintPropagation.enabled` off. Idempotent.
    """
    if not conf.flag("spark.sql.constraintPropagation.enabled"):
        return node
    if isinstance(node, Join):
        return _infer_join(node)
    known = constraints(node.child).union(split_conjuncts(node.condition))
    new = list(constraints(node).without(known))
    if not new:
        return node
    return replace(node, condition=call("and", conjunction(new), node.condition))


def _infer_join(node: Join) -> LogicalPlan:
    conjuncts = split_conjuncts(node.condition)
    stated = constraints(node.left).union(constraints(node.right)).union(conjuncts)
    known = stated.union(from_equalities(stated))

    def inferred(side: LogicalPlan) -> LogicalPlan:
        about = (
            e
            for e in known.union(not_null(known, side.output))
            if e.references and e.references <= side.output_ids and e.deterministic
        )
        return filtered(side, list(ExpressionSet(about).without(constraints(side))))

    left = inferred(node.left) if node.join_type in _LEFT else node.left
    right = inferred(node.right) if node.join_type in _RIGHT else node.right
    return with_sides(node, left, right)


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
    filters_right = node.join_type in (*_RIGHT, "ExistenceJoin")
    left_side = _side(node.left, mixed) if node.join_type in _LEFT else node.left
    right_side = _side(node.right, mixed) if filters_right else node.right
    return with_sides(node, left_side, right_side)


@top_down(Filter)
def clean_filters(node: Filter, conf: Conf) -> LogicalPlan:
    """`Filter (a OR b) OR a` -> `Filter a OR b`: what came late is simplified once more.

    Connectives first, constants then, each once: `isnotnull(a) AND 1 = 1` keeps its `true`.
    """
    excluded = settings.current().excluded
    if "simplify_booleans" not in excluded:
        node = node.transform_expressions(_connected)
    return node if "fold" in excluded else node.transform_expressions(fold)


def _connected(expression: Expression) -> Expression:
    connective = isinstance(expression, Call) and expression.name in ("and", "or", "not")
    return simplify_booleans(expression) if connective else expression


def _side(plan: LogicalPlan, conditions: list[Expression]) -> LogicalPlan:
    found = [_about(e, plan.output_ids) for e in conditions]
    new = [e for e in found if e is not None]
    return filtered(plan, list(ExpressionSet(new).without(constraints(plan)))) if new else plan


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


@top_down(Filter)
def prune_filters(node: Filter, conf: Conf) -> LogicalPlan:
    """`Filter true` goes, `Filter false` of a table is empty, known conjuncts go.

    Over a stream `Filter false` stays: the operators above have state. Idempotent.
    """
    if is_true(node.condition):
        return node.child
    if is_false(node.condition) or is_null(node.condition):
        return node if node.is_streaming else empty_like(node)
    known = constraints(node.child)
    if not len(known):
        return node
    conjuncts = split_conjuncts(node.condition)
    rest = [e for e in conjuncts if e not in known]
    if len(rest) == len(conjuncts):
        return node
    return replace(node, condition=conjunction(rest)) if rest else node.child
