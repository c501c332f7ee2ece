"""Names within expressions go: `upper(s AS x)` is `upper(s)`; only columns are named.

Until here they have named what is made of them: fields of structs, columns.
"""

from __future__ import annotations

from ....planner.model.expressions.core import Alias, Expression, without_alias
from ....planner.model.plans.logical import Aggregate, Filter, Generate, Join, Project, Sort, Window
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.tree import replace


def without_inner_aliases(plan: LogicalPlan) -> LogicalPlan:
    """The plan without names other than those of columns; itself if it has none."""
    plan = plan.map_children(without_inner_aliases)
    match plan:
        case Project() | Window():
            return plan.map_expressions(_named)
        case Aggregate(grouping=grouping, aggregates=aggregates):
            keys, items = tuple(map(_bare, grouping)), tuple(map(_named, aggregates))
            same = all(a is b for a, b in zip(keys + items, grouping + aggregates, strict=True))
            return plan if same else replace(plan, grouping=keys, aggregates=items)
        case Filter() | Join() | Sort() | Generate():
            return plan.map_expressions(_bare)
    return plan


def _named(expression: Expression) -> Expression:
    """A column: its own name stays."""
    if not isinstance(expression, Alias):
        return _bare(expression)
    child = _bare(expression.child)
    return expression if child is expression.child else replace(expression, child=child)


def _bare(expression: Expression) -> Expression:
    if not expression.holds(Alias):
        return expression
    return expression.transform_up(lambda e: without_alias(e))
