"""IN and EXISTS over subqueries as semi, anti and existence joins."""

from __future__ import annotations

from ....planner.model.errors import PlanningError
from ....planner.model.expressions.core import AttributeReference, Expression
from ....planner.model.expressions.equality import ExpressionSet
from ....planner.model.expressions.predicates import conjunction_or_none, split_conjuncts
from ....planner.model.expressions.subqueries import Exists, InSubquery, ListQuery
from ....planner.model.functions.build import call, is_call, negate
from ....planner.model.plans.join_types import JoinType
from ....planner.model.plans.logical import Filter, Join, Project
from ....planner.model.plans.query_plan import LogicalPlan, UnaryNode
from ....planner.model.schemas.types import BOOLEAN
from ....planner.model.settings.conf import Conf
from ....planner.model.text.logical_text import tree_text
from ....planner.model.text.text import plan_text
from ....planner.model.tree import replace
from ...common.trees import filtered
from .decorrelate import kept_apart
from .lateral_joins import rewrite_domain_joins
from .subqueries import has_subquery


def rewrite_predicate_subqueries(plan: LogicalPlan, conf: Conf) -> LogicalPlan:
    """`Filter a IN (q) AND b, t` -> `Join LeftSemi (a = q.x), Filter b, t, q`.

    NOT makes it an anti join; NOT IN takes a comparison that gives null for a match. Within OR, or
    in a select list, a join that adds whether there is a match. Requires optimized subqueries
    whose correlated conditions are pulled out.
    """
    if not has_subquery(plan):
        return plan
    node = _rewritten(plan)
    return node.map_children(lambda child: rewrite_predicate_subqueries(child, conf))


def _rewritten(node: LogicalPlan) -> LogicalPlan:
    if not any(_has_predicate(e) for e in node.expressions):
        return node
    match node:
        case Filter(condition=condition, child=child):
            conjuncts = split_conjuncts(condition)
            plain = [c for c in conjuncts if not _has_predicate(c)]
            plan = filtered(child, plain)
            for conjunct in conjuncts:
                if _has_predicate(conjunct):
                    plan = _filtered(plan, conjunct)
            return plan
        case UnaryNode():
            return _over_existence(node)
    return node


def _has_predicate(expression: Expression) -> bool:
    return expression.exists(lambda e: isinstance(e, InSubquery | Exists))


def _filtered(plan: LogicalPlan, conjunct: Expression) -> LogicalPlan:
    negated = is_call(conjunct, "not")
    inner = conjunct.children[0] if negated else conjunct
    if isinstance(inner, InSubquery | Exists):
        outer, values = _existential(plan, inner.values if isinstance(inner, InSubquery) else ())
        joined: LogicalPlan = _joined(
            outer, inner, values, "LeftAnti" if negated else "LeftSemi", negated
        )
    else:
        below, (condition,) = _existential(plan, (conjunct,))
        joined = Filter(condition=condition, child=below)
    return Project(project_list=plan.output, child=joined)


def _existential(
    plan: LogicalPlan, expressions: tuple[Expression, ...]
) -> tuple[LogicalPlan, tuple[Expression, ...]]:
    """The plan with a column for every test within the expressions, and these over the columns."""
    current = plan

    def add(test: InSubquery | Exists, *, negated: bool) -> Expression:
        nonlocal current
        mark = AttributeReference(name="exists", type_=BOOLEAN, is_nullable=False)
        values = test.values if isinstance(test, InSubquery) else ()
        current = _joined(current, test, values, "ExistenceJoin", negated, mark)
        return mark

    def visit(node: Expression) -> Expression:
        if is_call(node, "not") and isinstance(node.children[0], InSubquery):
            return negate(add(node.children[0], negated=True))
        if isinstance(node, InSubquery | Exists):
            return add(node, negated=False)
        return node.map_children(visit)

    rewritten = tuple(visit(e) if _has_predicate(e) else e for e in expressions)
    return current, rewritten


def _joined(
    plan: LogicalPlan,
    test: InSubquery | Exists,
    values: tuple[Expression, ...],
    kind: JoinType,
    null_aware: bool,
    mark: AttributeReference | None = None,
) -> Join:
    query = test.query if isinstance(test, InSubquery) else test
    assert isinstance(query, ListQuery | Exists)
    given = plan.output_ids.union(*(value.references for value in values))
    if isinstance(query, Exists):
        _check_told_apart(plan, query)
    # As in Spark, the conditions of IN go on meaning the outer plan's columns.
    subplan, conditions = kept_apart(query.plan, (), given)[0], query.conditions
    subplan = rewrite_domain_joins(plan, subplan, conditions)
    parts: list[Expression] = []
    for value, column in zip(values, subplan.output, strict=False):
        equal = call("=", value, column)
        may_match = null_aware and equal.nullable  # a null may be equal to anything
        parts.append(call("or", equal, call("isnull", equal)) if may_match else equal)
    parts = list(ExpressionSet((*parts, *conditions)))
    return Join(
        left=plan,
        right=subplan,
        join_type=kind,
        condition=conjunction_or_none(parts),
        mark=mark,
    )


def _check_told_apart(plan: LogicalPlan, query: Exists) -> None:
    """Refuse a condition over a column that both plans have, as where a table is in both."""
    shared = plan.output_ids & query.plan.output_ids
    condition = conjunction_or_none(list(query.conditions))
    if condition is None or not shared & condition.references:
        return
    columns = [a for a in query.plan.output if a.expr_id in shared & condition.references]
    raise PlanningError.of(
        "_LEGACY_ERROR_TEMP_1212",
        conflictingAttrs=", ".join(map(plan_text, columns)),
        outerPlan=tree_text(plan) + "\n",
        subplan=tree_text(query.plan) + "\n",
    )


def _over_existence(node: UnaryNode) -> LogicalPlan:
    child = node.child

    def rewrite(expression: Expression) -> Expression:
        nonlocal child
        child, (new,) = _existential(child, (expression,))
        return new

    changed = node.map_expressions(rewrite)
    return replace(changed, child=child)
