"""The last rule: what all others have to establish, checked once more."""

from __future__ import annotations

from ...physical.aggregate import AggregationStep
from ...physical.distribution import ordering_satisfies
from ...physical.explain.tree import tree_text
from ...physical.plan import SparkPlan, StatefulOperator, StateStoreWriter
from ...planner.model.errors import InternalError
from .execution import Execution


def validate_requirements(plan: SparkPlan, execution: Execution) -> SparkPlan:
    """Check that rows lie and are ordered as every operator requires, and that state is placed.

    Read-only.

    Raises:
        InternalError: a requirement does not hold; the message has the plan.
    """
    for node in plan.walk():
        fault = _fault(node)
        if fault:
            raise InternalError(f"{node.node_name}: {fault}.\n{tree_text(plan)}")
    ids = [n.state_info.operator_id for n in plan.collect(StateStoreWriter) if n.state_info]
    if len(ids) != len(set(ids)):
        raise InternalError(f"two operators share an id: {ids}.\n{tree_text(plan)}")
    return plan


def _fault(node: SparkPlan) -> str | None:
    if isinstance(node, StatefulOperator) and node.state_info is None:
        return "a stateful operator without state info"
    if isinstance(node, AggregationStep) and node.is_streaming and not node.num_shuffle_partitions:
        return "a streaming aggregate without a store count"
    distributions = node.required_child_distribution
    orderings = node.required_child_ordering
    if not len(node.children) == len(distributions) == len(orderings):
        return "not one required distribution and ordering per child"
    for child, distribution, ordering in zip(node.children, distributions, orderings, strict=True):
        if not child.output_partitioning.satisfies(distribution):
            return f"requires {distribution} of {child.node_name}"
        if not ordering_satisfies(child.output_ordering, ordering):
            return f"requires the order {ordering} of {child.node_name}"
    return None
