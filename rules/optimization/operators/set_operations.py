"""EXCEPT and INTERSECT as joins, filters and aggregations."""

from __future__ import annotations

from ....planner.model.expressions.core import (
    FALSE,
    TRUE,
    AggregateExpression,
    Alias,
    AttributeReference,
    Call,
    Expression,
    Literal,
)
from ....planner.model.expressions.equality import signature
from ....planner.model.expressions.predicates import conjunction
from ....planner.model.expressions.subqueries import SubqueryExpression
from ....planner.model.plans.logical import (
    Aggregate,
    Distinct,
    Filter,
    Generate,
    Join,
    Project,
    Union,
)
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.plans.set_operations import Except, Intersect, SetOperation
from ....planner.model.schemas.types import LONG
from ....planner.model.settings.conf import Conf
from ...common.trees import bottom_up, replace_attributes
from ..support.calls import NULL_BOOLEAN, call, negate


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
    left_items, left = _parts(node.left)
    right_items, right = _parts(node.right)
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


def _parts(plan: LogicalPlan) -> tuple[tuple[Expression, ...], LogicalPlan]:
    """The select list of a side and what is below it."""
    if isinstance(plan, Project):
        return plan.project_list, plan.child
    return plan.output, plan


# ------------------------------------------------------------------------------------------- ALL


def _except_all(node: Except, conf: Conf) -> LogicalPlan:
    """Rows of the left count 1, of the right -1; each is given as often as the sum says."""
    columns = node.left.output
    sides = tuple(
        Project(project_list=(Alias(child=_long(sign), name="vcol"), *side.output), child=side)
        for side, sign in ((node.left, 1), (node.right, -1))
    )
    union = Union(inputs=sides)
    total = _aggregate("sum", union.output[0], "sum", conf.ansi)
    summed = Aggregate(grouping=columns, aggregates=(*columns, total), child=union)
    left = Filter(condition=call(">", total.to_attribute(), _long(0)), child=summed)
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
    both = call("and", call(">=", one, _long(1)), call(">=", other, _long(1)))
    fewer = Alias(child=call("if", call(">", one, other), other, one), name="min_count")
    kept = Filter(condition=both, child=counted)
    chosen = Project(project_list=(*columns, fewer), child=kept)
    return _repeated(chosen, fewer.to_attribute(), columns)


def _repeated(
    plan: LogicalPlan, count: AttributeReference, columns: tuple[AttributeReference, ...]
) -> LogicalPlan:
    generator = Call(name="replicaterows", arguments=(count, *columns))
    generate = Generate(generator=generator, generated=columns, child=plan)
    return Project(project_list=columns, child=generate)


def _aggregate(function: str, column: AttributeReference, name: str, ansi: bool) -> Alias:
    call_ = Call(name=function, arguments=(column,), ansi=ansi)
    return Alias(child=AggregateExpression(function=call_), name=name)


def _long(value: int) -> Literal:
    return Literal(value=value, type_=LONG)
