"""UNION, EXCEPT and INTERSECT: unions as one, the others as joins, filters and aggregations."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from ....planner.model.expressions.core import (
    FALSE,
    TRUE,
    AggregateExpression,
    Alias,
    AttributeReference,
    Call,
    Expression,
    without_alias,
)
from ....planner.model.expressions.equality import signature
from ....planner.model.expressions.predicates import conjunction
from ....planner.model.expressions.subqueries import SubqueryExpression
from ....planner.model.functions.build import NULL_BOOLEAN, call, long, negate
from ....planner.model.plans.logical import (
    Aggregate,
    Deduplicate,
    Distinct,
    Filter,
    Generate,
    Join,
    Project,
    Union,
)
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.plans.set_operations import Except, Intersect, SetOperation
from ....planner.model.settings.conf import Conf
from ....planner.model.tree import replace
from ...common.trees import bottom_up, by_place, replace_attributes, top_down
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
        columns = by_place(first, plan)
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
    if list(map(id, inputs)) == list(map(id, union.inputs)):
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


@bottom_up(Except, Intersect)
def replace_set_operations(node: Except | Intersect, conf: Conf) -> LogicalPlan:
    """`Except l, r` -> `Distinct, Join LeftAnti (a <=> b), l, r`; Intersect with LeftSemi.

    EXCEPT of a filtered form of the same rows is a filter; ALL counts equal rows and gives each as
    often as is left. Idempotent: none is left.
    """
    match node:
        case Except(is_all=True):
            return _except_all(node, conf)
        case Intersect(is_all=True):
            return _intersect_all(node)
        case Except():
            return _as_filter(node) or _as_join(node)
    return _as_join(node)


def _as_join(node: SetOperation) -> LogicalPlan:
    pairs = zip(node.left.output, node.right.output, strict=True)
    joined = Join(
        left=node.left,
        right=node.right,
        join_type="LeftSemi" if isinstance(node, Intersect) else "LeftAnti",
        condition=conjunction([call("<=>", a, b) for a, b in pairs]),
    )
    return Distinct(child=joined)


def _as_filter(node: Except) -> LogicalPlan | None:
    """`l EXCEPT (l WHERE c)` keeps the rows for which `c` is not true."""
    left_items, left = _select_list(node.left)
    right_items, right = _select_list(node.right)
    if not isinstance(right, Filter) or node.uses(SubqueryExpression):
        return None
    condition, right = right.condition, right.child
    while isinstance(right, Filter):
        condition, right = call("and", right.condition, condition), right.child
    while isinstance(left, Filter):
        left = left.child
    names = {a.name: a for a in node.left.output}
    one = signature(Project(project_list=left_items, child=left), {})
    other = signature(Project(project_list=right_items, child=right), {})
    if len(names) < len(node.left.output) or not condition.deterministic or one != other:
        return None
    used = condition.collect(AttributeReference)
    if any(a.name not in names for a in used):
        return None
    own: dict[int, Expression] = {a.expr_id: names[a.name] for a in used}
    kept = negate(call("coalesce", replace_attributes(condition, own), FALSE))
    return Distinct(child=Filter(child=node.left, condition=kept))


def _select_list(plan: LogicalPlan) -> tuple[tuple[Expression, ...], LogicalPlan]:
    """The select list of a side and what is below it."""
    if isinstance(plan, Project):
        return plan.project_list, plan.child
    return plan.output, plan


# ------------------------------------------------------------------------------------------- ALL


def _except_all(node: Except, conf: Conf) -> LogicalPlan:
    """Rows of the left count 1, of the right -1; each is given as often as the sum says."""
    columns = node.left.output
    sides = tuple(
        Project(project_list=(Alias(child=long(sign), name="vcol"), *side.output), child=side)
        for side, sign in ((node.left, 1), (node.right, -1))
    )
    union = Union(inputs=sides)
    total = _aggregate("sum", union.output[0], "sum", conf.ansi)
    summed = Aggregate(grouping=columns, aggregates=(*columns, total), child=union)
    left = Filter(condition=call(">", total.to_attribute(), long(0)), child=summed)
    return _repeated(left, total.to_attribute(), columns)


def _intersect_all(node: Intersect) -> LogicalPlan:
    """How often a row is on either side; it is given as often as on the side with fewer."""
    columns = node.left.output
    marks = (
        (Alias(child=TRUE, name="vcol1"), Alias(child=NULL_BOOLEAN, name="vcol2")),
        (Alias(child=NULL_BOOLEAN, name="vcol1"), Alias(child=TRUE, name="vcol2")),
    )
    sides = tuple(
        Project(project_list=(*pair, *side.output), child=side)
        for side, pair in ((node.left, marks[0]), (node.right, marks[1]))
    )
    union = Union(inputs=sides)
    counts = [
        _aggregate("count", union.output[i], f"vcol{i + 1}_count", ansi=True) for i in range(2)
    ]
    counted = Aggregate(grouping=columns, aggregates=(*counts, *columns), child=union)
    one, other = (count.to_attribute() for count in counts)
    both = call("and", call(">=", one, long(1)), call(">=", other, long(1)))
    fewer = Alias(child=call("if", call(">", one, other), other, one), name="min_count")
    kept = Filter(condition=both, child=counted)
    chosen = Project(project_list=(*columns, fewer), child=kept)
    return _repeated(chosen, fewer.to_attribute(), columns)


def _repeated(
    plan: LogicalPlan, count: AttributeReference, columns: tuple[AttributeReference, ...]
) -> LogicalPlan:
    generator = call("replicaterows", count, *columns)
    generate = Generate(generator=generator, generated=columns, child=plan)
    return Project(project_list=columns, child=generate)


def _aggregate(function: str, column: AttributeReference, name: str, ansi: bool) -> Alias:
    call_ = Call(name=function, arguments=(column,), ansi=ansi)
    return Alias(child=AggregateExpression(function=call_), name=name)
