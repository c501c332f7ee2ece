"""Fresh ids of columns for the second use of a table or of a definition of WITH."""

from __future__ import annotations

from ...planner.model.expressions.core import Alias, AttributeReference, Expression
from ...planner.model.expressions.subqueries import OuterReference, SubqueryExpression
from ...planner.model.ids import fresh_id
from ...planner.model.plans.logical import Expand, Generate, Project
from ...planner.model.plans.python_operators import PythonOperator
from ...planner.model.plans.query_plan import LogicalPlan
from ...planner.model.plans.relations import (
    CTERelationDef,
    CTERelationRef,
    LocalRelation,
    Range,
    Relation,
    StreamingRelation,
    WithCTE,
)
from ...planner.model.tree import replace
from .trees import map_subqueries, same_columns


def keep_apart(left: LogicalPlan, right: LogicalPlan) -> LogicalPlan:
    """The right side with fresh ids for columns that the left side gives too."""
    shared = left.output_ids & right.output_ids
    return renewed(right, shared) if shared else right


def keep_tables_apart(first: LogicalPlan, second: LogicalPlan) -> LogicalPlan:
    """The second plan with fresh ids for tables that both read, where nothing streams."""
    if first.is_streaming or second.is_streaming:
        return second
    shared = _tables(first) & _tables(second)
    return renewed(second, shared) if shared else second


def _tables(plan: LogicalPlan) -> frozenset[int]:
    return frozenset().union(*(table.output_ids for table in plan.collect(Relation)))


def keep_subqueries_apart(plan: LogicalPlan) -> LogicalPlan:
    """Fresh ids for tables that a subquery reads and the query around it too.

    Spark does that where nothing streams only, which is within subqueries.
    """
    if plan.is_streaming or not plan.resolved:
        return plan
    return _with_own_tables(plan, set())


def _with_own_tables(plan: LogicalPlan, seen: set[int]) -> LogicalPlan:
    if isinstance(plan, Relation):
        seen.update(plan.output_ids)
        return plan

    def own(subquery: SubqueryExpression) -> Expression:
        tables = _tables(subquery.plan)
        inner = renewed(subquery.plan, tables & seen) if tables & seen else subquery.plan
        return replace(subquery, plan=_with_own_tables(inner, seen))

    node = plan.map_children(lambda child: _with_own_tables(child, seen))
    return map_subqueries(node, own)


def renewed(plan: LogicalPlan, ids: frozenset[int], *, once: bool = False) -> LogicalPlan:
    """The plan with fresh ids for these columns, from the operators on that make them.

    A column that is made twice, in branches of a union, has the same new id in both. With `once`,
    it is as one run of Spark's rule leaves it: below an operator that makes some of the columns
    nothing changes, so that columns which pass through it keep their ids.
    """
    changed: dict[int, int] = {}

    def fresh(expr_id: int) -> int:
        if expr_id not in changed:
            changed[expr_id] = fresh_id()
        return changed[expr_id]

    def swap_made(expression: Expression) -> Expression:
        if isinstance(expression, Alias) and expression.expr_id in ids:
            return replace(expression, expr_id=fresh(expression.expr_id))
        return expression

    def swap_column(column: AttributeReference) -> AttributeReference:
        return replace(column, expr_id=changed.get(column.expr_id, column.expr_id))

    def swap(expression: Expression) -> Expression:
        if isinstance(expression, AttributeReference) and expression.expr_id in changed:
            return swap_column(expression)
        return swap_made(expression)

    def swap_around(expression: Expression) -> Expression:
        if isinstance(expression, OuterReference):
            return replace(expression, column=swap_column(expression.column))
        return expression

    def in_subquery(query: SubqueryExpression) -> SubqueryExpression:
        if changed.keys().isdisjoint(query.references):
            return query
        plan = query.plan.transform_up(
            lambda node: map_subqueries(node, in_subquery).transform_expressions(swap_around)
        )
        return replace(query, plan=plan)

    def swapped(node: LogicalPlan) -> LogicalPlan:
        return map_subqueries(node, in_subquery).transform_expressions(swap)

    def visit(node: LogicalPlan) -> LogicalPlan:
        if not once:
            node = node.map_children(visit)
        match node:
            case Generate() | Expand():
                produced = (node.output_ids - node.children[0].output_ids) & ids
                for column in node.output:
                    if column.expr_id in produced:
                        fresh(column.expr_id)
                if once and produced:
                    return swapped(node)
            case (
                Relation()
                | StreamingRelation()
                | LocalRelation()
                | Range()
                | CTERelationRef()
                | PythonOperator()
            ):
                if not ids.isdisjoint(node.output_ids):
                    own = (replace(a, expr_id=fresh(a.expr_id)) for a in node.attributes)
                    return replace(node, attributes=tuple(own))
        if once:
            with_made = node.map_expressions(swap_made)
            if with_made is not node:
                return with_made
            node = node.map_children(visit)
        return swapped(node)

    return visit(plan)


def reference(definition: CTERelationDef) -> CTERelationRef:
    """A use of the definition, with its columns."""
    return CTERelationRef(
        cte_id=definition.cte_id,
        attributes=definition.child.output,
        streaming=definition.is_streaming,
        always_nullable=definition.nullable_state,
    )


def inline_ctes(plan: LogicalPlan) -> LogicalPlan:
    """Each use of a name of WITH replaced by what it stands for; no WithCTE is left.

    Where a use has column ids of its own, a Project gives them, over columns of its own.
    """
    return _inlined(plan, {})


def _inlined(plan: LogicalPlan, known: dict[int, LogicalPlan]) -> LogicalPlan:
    if isinstance(plan, WithCTE):
        known = dict(known)
        for definition in plan.definitions:
            known[definition.cte_id] = _inlined(definition.child, known)
        return _inlined(plan.child, known)
    if isinstance(plan, CTERelationRef):
        return _renamed(known[plan.cte_id], plan)

    node = plan.map_children(lambda child: _inlined(child, known))
    return map_subqueries(node, lambda query: replace(query, plan=_inlined(query.plan, known)))


def _renamed(child: LogicalPlan, use: CTERelationRef) -> LogicalPlan:
    if same_columns(child.output, use.attributes):
        return child
    streams = child.is_streaming
    fresh = renewed(child, child.output_ids, once=True) if streams else _renewed_whole(child)
    items = tuple(
        own
        if own.expr_id == other.expr_id
        else Alias(child=own, name=other.name, expr_id=other.expr_id)
        for own, other in zip(fresh.output, use.attributes, strict=True)
    )
    return Project(project_list=items, child=fresh)


def _renewed_whole(plan: LogicalPlan) -> LogicalPlan:
    """The plan with fresh ids for all columns that it makes, those of its subqueries too."""
    return renewed(plan, _produced(plan)).transform_up(
        lambda node: map_subqueries(
            node, lambda query: replace(query, plan=_renewed_whole(query.plan))
        )
    )


def _produced(plan: LogicalPlan) -> frozenset[int]:
    """The ids of all columns that the plan's operators make."""
    found = set(plan.output_ids)
    for node in plan.walk():
        if not node.children:
            found |= node.output_ids
        for expression in node.expressions:
            found.update(alias.expr_id for alias in expression.collect(Alias))
    return frozenset(found)
