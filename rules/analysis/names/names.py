"""Names for the expressions of a select list."""

from __future__ import annotations

from ....planner.model.expressions.core import (
    Alias,
    AttributeReference,
    Cast,
    Expression,
    without_alias,
)
from ....planner.model.expressions.unresolved import UnresolvedAlias
from ....planner.model.plans.logical import Aggregate, Filter, Generate, Join, Project, Sort, Window
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.schemas.types import quote_if_needed
from ....planner.model.text.text import pretty
from ....planner.model.tree import replace


def named(expression: Expression) -> Expression:
    """A select-list item with its name, once the expression is resolved."""
    if not isinstance(expression, UnresolvedAlias) or not expression.child.resolved:
        return expression
    child = expression.child
    if isinstance(child, AttributeReference | Alias):
        return child
    return Alias(child=child, name=automatic_name(child), origin=expression.origin)


def automatic_name(expression: Expression) -> str:
    """A cast of a column keeps the column's name; anything else is called by its pretty form."""
    if isinstance(expression, Cast) and isinstance(expression.child, AttributeReference | Alias):
        return expression.child.name
    return pretty(expression)


def qualified(expression: Expression) -> Expression:
    """The expression with its columns named in full, as some messages show them."""
    return _in_full(expression, casts=False)


def as_sql(expression: Expression) -> str:
    """The expression as SQL: columns named in full, implicit casts written out."""
    if isinstance(expression, Alias):
        return f"{as_sql(expression.child)} AS {quote_if_needed(expression.name)}"
    return pretty(_in_full(expression, casts=True))


def _in_full(expression: Expression, *, casts: bool) -> Expression:
    def full(node: Expression) -> Expression:
        if casts and isinstance(node, Cast) and node.implicit:
            return replace(node, implicit=False)
        if isinstance(node, AttributeReference):
            return AttributeReference(
                name=".".join((*node.qualifier, node.name)),
                type_=node.type_,
                expr_id=node.expr_id,
            )
        return node

    return expression.transform_up(full)


def without_inner_aliases(plan: LogicalPlan) -> LogicalPlan:
    """The plan without names other than those of columns; itself if it has none."""
    plan = plan.map_children(without_inner_aliases)
    match plan:
        case Project() | Window():
            return plan.map_expressions(_with_own_name)
        case Aggregate(grouping=grouping, aggregates=aggregates):
            keys, items = tuple(map(_bare, grouping)), tuple(map(_with_own_name, aggregates))
            same = all(a is b for a, b in zip(keys + items, grouping + aggregates, strict=True))
            return plan if same else replace(plan, grouping=keys, aggregates=items)
        case Filter() | Join() | Sort() | Generate():
            return plan.map_expressions(_bare)
    return plan


def _with_own_name(expression: Expression) -> Expression:
    """A column: its own name stays."""
    if not isinstance(expression, Alias):
        return _bare(expression)
    child = _bare(expression.child)
    return expression if child is expression.child else replace(expression, child=child)


def _bare(expression: Expression) -> Expression:
    if not expression.holds(Alias):
        return expression
    return expression.transform_up(lambda e: without_alias(e))
