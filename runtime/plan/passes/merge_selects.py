"""Makes one select of two that stand on each other.

    Select [a + 1 AS b]            Select [(x * 2) + 1 AS b] where x > 0
    +- Select [x * 2 AS a] where x > 0

What is computed below is computed once: a value that the upper select uses twice stays where it
is, unless it is no more than a column, a constant or a field. Selects with functions that give
another value each time, or with OVER, stay as they are. Idempotent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ....planner.model.expressions.core import (
    Alias,
    AttributeReference,
    Call,
    Expression,
    GetStructField,
    Literal,
)
from ....planner.model.expressions.windows import WindowExpression
from ....planner.model.tree import includes, replace
from ..carried import field_of
from ..facts import BatchFacts
from ..nodes import RuntimeNode, Select


def merge_selects(plan: RuntimeNode, facts: BatchFacts) -> RuntimeNode:
    """The plan with as few selects as need be."""
    return plan.transform_up(_merged)


def _merged(node: RuntimeNode) -> RuntimeNode:
    if not isinstance(node, Select):
        return node
    below = node.child
    while isinstance(below, Select) and not (node.in_arrow or below.in_arrow):
        one = merged(node, below)
        if one is None:
            return node
        node, below = one, one.child
    return below if _changes_nothing(node) else node


def _changes_nothing(node: Select) -> bool:
    return not node.conditions and node.columns == node.child.output


def merged(upper: Select, lower: Select) -> Select | None:
    """The two as one; None if that would compute something twice, or otherwise."""
    uses = Counter(_references((*upper.conditions, *upper.columns)))
    if any(uses[_id(column)] > 1 and not _cheap(column) for column in lower.columns):
        return None
    return combined(upper, lower)


def combined(upper: Select, lower: Select) -> Select | None:
    """The two as one, whatever is computed twice then; None if values would be others."""
    if any(includes(s.own_expression_classes, WindowExpression) for s in (upper, lower)):
        return None
    made = {_id(column): column for column in lower.columns}
    changing = {id_ for id_, column in made.items() if not column.deterministic}
    picks = all(isinstance(column, AttributeReference) for column in upper.columns)
    if changing and (upper.conditions or not picks):
        return None

    def replaced(part: Expression) -> Expression:
        if isinstance(part, AttributeReference) and part.expr_id in made:
            found = made[part.expr_id]
            value = found.child if isinstance(found, Alias) else found
            if isinstance(value, AttributeReference) and value.nullable != part.nullable:
                # Types are to stay: what the conditions leave no null of, above or below.
                return replace(value, is_nullable=part.nullable)
            return value
        if isinstance(part, GetStructField):
            return _field(part)
        return part

    def over(column: Expression) -> Expression:
        if isinstance(column, AttributeReference):
            return made.get(column.expr_id, column)
        return column.transform_up(replaced)

    one = Select(
        child=lower.child,
        conditions=(*lower.conditions, *(c.transform_up(replaced) for c in upper.conditions)),
        columns=tuple(map(over, upper.columns)),
    )
    # A value within a map or a list that only the conditions below keep from being null.
    return one if [a.data_type for a in one.output] == [a.data_type for a in upper.output] else None


def _field(part: GetStructField) -> Expression:
    """A field of a struct that is made on the spot is what it is made of."""
    match part.child:
        case Call(name="named_struct"):
            return field_of(part.child, part.ordinal)
    return part


def _id(column: Expression) -> int:
    assert isinstance(column, Alias | AttributeReference)
    return column.expr_id


def _references(expressions: Iterable[Expression]) -> Iterable[int]:
    for expression in expressions:
        for column in expression.collect(AttributeReference):
            yield column.expr_id


def _cheap(column: Expression) -> bool:
    """Whether a value costs nothing to compute twice."""
    value = column.child if isinstance(column, Alias) else column
    while isinstance(value, GetStructField):
        value = value.child
    return isinstance(value, AttributeReference | Literal)
