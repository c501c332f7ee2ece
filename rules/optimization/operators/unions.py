"""Unions: nested ones as one, projections into their inputs."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from ....planner.model.expressions.core import Alias, AttributeReference, Expression, without_alias
from ....planner.model.expressions.equality import signature
from ....planner.model.plans.logical import Deduplicate, Distinct, Project, Union
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.settings.conf import Conf
from ....planner.model.tree import replace
from ...common.trees import replace_attributes, top_down
from .collapse_projects import can_collapse, merged_list


@top_down(Project, holding=(Union,))
def push_projections_through_unions(node: Project, conf: Conf) -> LogicalPlan:
    """`Project, Union(a, b)` -> `Union(Project a, Project b)`.

    The first input keeps the ids of the Project's columns, the others get fresh ones, and lose
    the event-time mark on computed columns, as in Spark. A Project that gives a column twice
    stays: the union's columns would have one id. Idempotent.
    """
    if (
        isinstance(node.child, Union)
        and all(e.deterministic for e in node.project_list)
        and len(node.output_ids) == len(node.project_list)
    ):
        return replace(node.child, inputs=tuple(projected_inputs(node, node.child)))
    return node


def projected_inputs(node: Project, union: Union) -> list[LogicalPlan]:
    """The union's inputs under the projection."""
    first, *rest = union.inputs
    inputs: list[LogicalPlan] = [Project(child=first, project_list=node.project_list)]
    for plan in rest:
        columns = {a.expr_id: b for a, b in zip(first.output, plan.output, strict=True)}
        items = tuple(_for_input(e, columns) for e in node.project_list)
        inputs.append(Project(child=plan, project_list=items))
    return inputs


def _for_input(item: Expression, columns: Mapping[int, Expression]) -> Expression:
    new = replace_attributes(item, columns)
    return Alias(child=new.child, name=new.name) if isinstance(new, Alias) else new


@top_down(Union, Distinct, holding=(Union,))
def combine_unions(node: Union | Distinct, conf: Conf) -> LogicalPlan:
    """`Union(Union(a, b), c)` -> `Union(a, b, c)`, also under DISTINCT. Idempotent."""
    match node:
        case Union():
            return _flattened(node, distinct=False)
        case Distinct(child=Union() as below):
            flat = _flattened(below, distinct=True)
            return node if flat is below else replace(node, child=flat)
    return node


@top_down(Distinct, Deduplicate, holding=(Union,))
def drop_repeated_inputs(node: Distinct | Deduplicate, conf: Conf) -> LogicalPlan:
    """`Distinct, Union(a, b, a)` -> `Distinct, Union(a, b)`; dropDuplicates likewise. Idempotent.

    The same: equal but for ids and names, and for Projects that only give other names.
    """
    match node:
        case Distinct(child=Union() as union) | Deduplicate(child=Union() as union):
            first: dict[Hashable, LogicalPlan] = {}
            for branch in union.inputs:
                first.setdefault(signature(_without_renaming(branch), {}), branch)
            inputs = tuple(first.values())
            if len(inputs) == 1:
                return replace(node, child=inputs[0])
            if len(inputs) < len(union.inputs):
                return replace(node, child=replace(union, inputs=inputs))
    return node


def _without_renaming(plan: LogicalPlan) -> LogicalPlan:
    match plan:
        case Project(child=child, project_list=items):
            given = [without_alias(e) for e in items]
            ids = [e.expr_id for e in given if isinstance(e, AttributeReference)]
            if ids == [a.expr_id for a in child.output] and len(ids) == len(items):
                return child
    return plan


def _flattened(union: Union, *, distinct: bool) -> Union:
    inputs: list[LogicalPlan] = []
    waiting: list[LogicalPlan] = list(reversed(union.inputs))
    while waiting:
        plan = waiting.pop()
        parts = _parts(plan, union, distinct=distinct)
        if parts is None:
            inputs.append(plan)
        else:
            waiting.extend(reversed(parts))
    if len(inputs) == len(union.inputs) and all(
        a is b for a, b in zip(inputs, union.inputs, strict=True)
    ):
        return union
    return replace(union, inputs=tuple(inputs))


def _parts(plan: LogicalPlan, top: Union, *, distinct: bool) -> list[LogicalPlan] | None:
    """What to put in place of an input, or None to keep it."""
    match plan:
        case Project(child=Project() as below) if can_collapse(
            plan.project_list, below.project_list
        ):
            merged = merged_list(plan.project_list, below.project_list)
            return [replace(below, project_list=merged)]
        case Distinct(child=Union() as below) if distinct and _alike(below, top):
            return list(below.inputs)
        case Deduplicate(child=Union() as below) if distinct and _alike(below, top):
            keys = frozenset().union(*(key.references for key in plan.keys))
            return list(below.inputs) if keys == below.output_ids else None
        case Union() if _alike(plan, top):
            return list(plan.inputs)
        case Project(child=Union() as below) if _alike(below, top):
            if all(e.deterministic for e in plan.project_list):
                return projected_inputs(plan, below)
    return None


def _alike(one: Union, other: Union) -> bool:
    return one.by_name == other.by_name and one.allow_missing == other.allow_missing
