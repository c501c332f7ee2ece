"""`withField` and `dropFields`: fewer changes, and in the end structs built anew."""

from __future__ import annotations

from collections.abc import Callable

from ....planner.model.expressions.core import Expression
from ....planner.model.functions.struct_updates import UpdateFields, combined, made
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.settings.conf import Conf


def combine_updates(plan: LogicalPlan, conf: Conf) -> LogicalPlan:
    """Changes of changes become one; of those that put in one field the last one stays.

    `update_fields(update_fields(s, p), q)` -> `update_fields(s, p, q)`. Idempotent.
    """

    def visit(node: Expression) -> Expression:
        current = node.map_children(visit)
        return combined(current, conf) if isinstance(current, UpdateFields) else current

    return _everywhere(plan, visit)


def replace_updates(plan: LogicalPlan, conf: Conf) -> LogicalPlan:
    """`update_fields(s, WithField(a, x))` -> `if (isnull(s)) null else named_struct(a, x, ...)`.

    Idempotent: afterwards there are no such calls.
    """

    def replaced(node: Expression) -> Expression:
        current = node.map_children(replaced)
        return made(current) if isinstance(current, UpdateFields) else current

    return _everywhere(plan, replaced)


def _everywhere(plan: LogicalPlan, function: Callable[[Expression], Expression]) -> LogicalPlan:
    node = plan.map_children(lambda child: _everywhere(child, function))
    return node.map_expressions(function)
