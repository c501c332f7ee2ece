"""Fresh ids of columns for the second use of a table or of a definition of WITH."""

from __future__ import annotations

from ...planner.model.expressions.core import Alias, AttributeReference, Expression, to_attribute
from ...planner.model.expressions.subqueries import SubqueryExpression
from ...planner.model.plans.logical import Expand, Generate, Project
from ...planner.model.plans.python_operators import PythonOperator
from ...planner.model.plans.query_plan import LogicalPlan
from ...planner.model.plans.relations import (
    CTERelationDef,
    CTERelationRef,
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


def renewed(plan: LogicalPlan, ids: frozenset[int]) -> LogicalPlan:
    """The plan with fresh ids for these columns, from the operators on that make them.

    A column that is made twice, in branches of a union, has the same new id in both.
    """
    changed: dict[int, AttributeReference] = {}

    def fresh(column: AttributeReference) -> AttributeReference:
        known = changed.get(column.expr_id)
        new = column.new_instance() if known is None else known
        changed[column.expr_id] = new
        return new

    def swap(expression: Expression) -> Expression:
        if isinstance(expression, AttributeReference) and expression.expr_id in changed:
            return replace(expression, expr_id=changed[expression.expr_id].expr_id)
        if isinstance(expression, Alias) and expression.expr_id in ids:
            new = fresh(to_attribute(expression))
            return replace(expression, expr_id=new.expr_id)
        return expression

    def visit(node: LogicalPlan) -> LogicalPlan:
        node = node.map_children(visit)
        match node:
            case CTERelationRef() | StreamingRelation() | Relation() | PythonOperator():
                if not ids.isdisjoint(node.output_ids):
                    return replace(node, attributes=tuple(fresh(a) for a in node.attributes))
            case Generate() | Expand():
                produced = node.output_ids - node.children[0].output_ids
                for column in node.output:
                    if column.expr_id in produced & ids:
                        fresh(column)
        return node.transform_expressions(swap)

    return visit(plan)


def renewed_once(plan: LogicalPlan) -> LogicalPlan:
    """The plan with fresh ids for its columns, as one run of Spark's rule gives them.

    An operator that makes some of the columns gets fresh ids for these, and what is below it is
    left alone: columns that pass through it keep their ids.
    """
    ids = plan.output_ids
    changed: dict[int, int] = {}

    def fresh(column: AttributeReference) -> AttributeReference:
        new = column.new_instance()
        changed[column.expr_id] = new.expr_id
        return new

    def own(expression: Expression) -> Expression:
        if isinstance(expression, Alias) and expression.expr_id in ids:
            return replace(expression, expr_id=fresh(to_attribute(expression)).expr_id)
        return expression

    def swap(expression: Expression) -> Expression:
        if isinstance(expression, AttributeReference) and expression.expr_id in changed:
            return replace(expression, expr_id=changed[expression.expr_id])
        return expression

    def visit(node: LogicalPlan) -> LogicalPlan:
        match node:
            case CTERelationRef() | StreamingRelation() | Relation() | PythonOperator():
                if ids.isdisjoint(node.output_ids):
                    return node
                return replace(node, attributes=tuple(fresh(a) for a in node.attributes))
            case Generate() | Expand():
                produced = (node.output_ids - node.children[0].output_ids) & ids
                for column in node.output:
                    if column.expr_id in produced:
                        fresh(column)
                if produced:
                    return node.transform_expressions(swap)
        with_own = node.map_expressions(own)
        if with_own is not node:
            return with_own
        return node.map_children(visit).transform_expressions(swap)

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
    fresh = renewed_once(child) if child.is_streaming else renewed(child, _produced(child))
    items = tuple(
        own
        if own.expr_id == other.expr_id
        else Alias(child=own, name=other.name, expr_id=other.expr_id)
        for own, other in zip(fresh.output, use.attributes, strict=True)
    )
    return Project(project_list=items, child=fresh)


def _produced(plan: LogicalPlan) -> frozenset[int]:
    """The ids of all columns that the plan's operators make."""
    found = set(plan.output_ids)
    for node in plan.walk():
        if not node.children:
            found |= node.output_ids
        for expression in node.expressions:
            found.update(alias.expr_id for alias in expression.collect(Alias))
    return frozenset(found)
