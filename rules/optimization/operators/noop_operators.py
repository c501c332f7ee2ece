"""Operators that do nothing."""

from __future__ import annotations

from ....planner.model.expressions.core import Alias, AttributeReference, Expression
from ....planner.model.plans.logical import Aggregate, Project
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.settings.conf import Conf
from ....planner.model.tree import replace
from ...common.trees import bottom_up, same_output


@bottom_up(Project)
def remove_noop_operators(node: Project, conf: Conf) -> LogicalPlan:
    """A Project with the columns of its input, in order and by name, goes. Idempotent."""
    if not same_output(node, node.child):
        return node
    names = [a.name for a in node.output]
    child = node.child
    if isinstance(child, Project):
        child = replace(child, project_list=_named(child.project_list, names))
    elif isinstance(child, Aggregate):
        child = replace(child, aggregates=_named(child.aggregates, names))
    return child if [a.name for a in child.output] == names else node


def _named(items: tuple[Expression, ...], names: list[str]) -> tuple[Expression, ...]:
    def named(item: Expression, name: str) -> Expression:
        if isinstance(item, Alias | AttributeReference) and item.name != name:
            return replace(item, name=name)
        return item

    return tuple(named(item, name) for item, name in zip(items, names, strict=True))
