"""Filters over joins, and join conditions that concern one side."""

from __future__ import annotations

from ....planner.model.expressions.core import Expression
from ....planner.model.expressions.predicates import conjunction, split_conjuncts
from ....planner.model.expressions.python_functions import PythonUDF
from ....planner.model.expressions.subqueries import Exists, ListQuery, subqueries_in
from ....planner.model.plans.logical import Filter, Join
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.tree import replace

Split = tuple[list[Expression], list[Expression], list[Expression]]
_INNER = ("Inner", "Cross")


def _split(conjuncts: list[Expression], join: Join) -> Split:
    """The conjuncts of the left side alone, of the right side alone, and all others."""
    left: list[Expression] = []
    right: list[Expression] = []
    both: list[Expression] = []
    impure: list[Expression] = []
    for conjunct in conjuncts:
        if not conjunct.deterministic:
            impure.append(conjunct)
        elif conjunct.references <= join.left.output_ids:
            left.append(conjunct)
        elif conjunct.references <= join.right.output_ids:
            right.append(conjunct)
        else:
            both.append(conjunct)
    return left, right, both + impure


def fits_in_join(conjunct: Expression) -> bool:
    """Whether a join can test it: not what Python computes of both sides, nor what subqueries
    say of a row of both."""
    if not conjunct.deterministic or conjunct.holds(PythonUDF):
        return False
    return not any(
        isinstance(s, ListQuery | Exists) or s.correlated for s in subqueries_in(conjunct)
    )


def _filtered(conjuncts: list[Expression], plan: LogicalPlan) -> LogicalPlan:
    return Filter(child=plan, condition=conjunction(conjuncts)) if conjuncts else plan


def push_through_join(node: Filter, join: Join) -> LogicalPlan:
    """`Filter l AND r AND both, Join` -> `Join both, Filter l, Filter r` for an inner join.

    For an outer join only the preserved side's conjuncts move, the others stay above.
    """
    left, right, both = _split(split_conjuncts(node.condition), join)
    match join.join_type:
        case "Inner" | "Cross":
            within = [e for e in both if fits_in_join(e)]
            others = [e for e in both if not fits_in_join(e)]
            if not (left or right or within):
                return node
            condition = [*within, *([join.condition] if join.condition is not None else [])]
            new: LogicalPlan = replace(
                join,
                left=_filtered(left, join.left),
                right=_filtered(right, join.right),
                condition=conjunction(condition) if condition else None,
            )
            return _filtered(others, new)
        case "RightOuter":
            if not right:
                return node
            return _filtered(left + both, replace(join, right=_filtered(right, join.right)))
        case "LeftOuter" | "LeftSingle" | "LeftSemi" | "LeftAnti" | "ExistenceJoin":
            if not left:
                return node
            return _filtered(right + both, replace(join, left=_filtered(left, join.left)))
    return node


def push_join_condition_down(join: Join) -> LogicalPlan:
    """Conjuncts of an ON condition that concern one side become a filter of that side.

    Of both sides for an inner or semi join; of an outer join's null-supplying side only.
    """
    if join.condition is None:
        return join
    left, right, both = _split(split_conjuncts(join.condition), join)
    match join.join_type:
        case "Inner" | "Cross" | "LeftSemi":
            rest = both
        case "RightOuter":
            right, rest = [], right + both
        case "LeftOuter" | "LeftSingle" | "LeftAnti" | "ExistenceJoin":
            left, rest = [], left + both
        case _:
            return join
    # Also where nothing moves: what stays is put in order, the conjuncts of one side first.
    condition = conjunction(rest) if rest else None
    if not left and not right and condition == join.condition:
        return join
    return replace(
        join,
        left=_filtered(left, join.left),
        right=_filtered(right, join.right),
        condition=condition,
    )
