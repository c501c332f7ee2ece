"""Filters that decide nothing."""

from __future__ import annotations

from ....planner.model.expressions.predicates import conjunction, split_conjuncts
from ....planner.model.plans.logical import Filter
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.settings.conf import Conf
from ....planner.model.tree import replace
from ...common.trees import top_down
from ..operators.empty_relations import empty_like
from ..support.calls import is_false, is_null, is_true
from ..support.constraints import constraints


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
