"""UNION ALL: columns of different types meet at a common type, in every branch that lacks it."""

from __future__ import annotations

from dataclasses import replace

from ...planner.model.expressions import Alias, AttributeReference, Expression
from ...planner.model.functions.coercion import wider_type
from ...planner.model.logical import Project, Union
from ...planner.model.query_plan import LogicalPlan
from ...planner.model.types import DataType
from .context import Context


def widen_union(plan: Union, context: Context) -> Union:
    """The union with a Project of casts over each branch that needs one.

    `Union [int], [bigint]` becomes `Union [Project [cast(a as bigint) AS a]], [bigint]`. Branches
    that cannot meet stay as they are; the check at the end of analysis tells.
    """
    plan = replace(plan, inputs=tuple(_told_apart(plan.inputs)))
    outputs = [branch.output for branch in plan.inputs]
    if plan.resolved or len({len(output) for output in outputs}) > 1:
        return plan
    types = [_common([o[i].type_ for o in outputs], context) for i in range(len(outputs[0]))]
    branches = tuple(_widened(branch, types, context) for branch in plan.inputs)
    return replace(plan, inputs=branches)


def _told_apart(branches: tuple[LogicalPlan, ...]) -> list[LogicalPlan]:
    """The branches with new ids where one gives a column twice or gives an earlier one's."""
    result: list[LogicalPlan] = []
    seen: set[int] = set()
    for branch in branches:
        branch = _without_repeats(branch)
        if not seen.isdisjoint(branch.output_ids):
            items = tuple(Alias(child=a, name=a.name) for a in branch.output)
            branch = Project(project_list=items, child=branch)
        seen |= branch.output_ids
        result.append(branch)
    return result


def _without_repeats(branch: LogicalPlan) -> LogicalPlan:
    output = branch.output
    if len(branch.output_ids) == len(output):
        return branch
    seen: set[int] = set()
    items: list[Expression] = []
    for column in output:
        items.append(Alias(child=column, name=column.name) if column.expr_id in seen else column)
        seen.add(column.expr_id)
    return Project(project_list=tuple(items), child=branch)


def _common(types: list[DataType], context: Context) -> DataType | None:
    found: DataType | None = types[0]
    for other in types[1:]:
        if found is None:
            return None
        found = wider_type(found, other, context.conf)
    return found


def _widened(branch: LogicalPlan, types: list[DataType | None], context: Context) -> LogicalPlan:
    items: list[Expression] = [
        _cast(a, t, context) for a, t in zip(branch.output, types, strict=True)
    ]
    if all(new is old for new, old in zip(items, branch.output, strict=True)):
        return branch
    return Project(project_list=tuple(items), child=branch)


def _cast(column: AttributeReference, target: DataType | None, context: Context) -> Expression:
    if target is None or column.type_ == target:
        return column
    return Alias(child=context.cast(column, target), name=column.name)
