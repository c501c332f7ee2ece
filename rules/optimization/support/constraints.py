"""What is known to hold for every row that a plan gives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce

from ....planner.model.expressions.core import (
    AggregateExpression,
    Alias,
    AttributeReference,
    Call,
    Cast,
    Expression,
    GetStructField,
    Literal,
    to_attribute,
)
from ....planner.model.expressions.equality import Canonical, ExpressionSet, canonical
from ....planner.model.expressions.predicates import conjunction, disjunction, split_conjuncts
from ....planner.model.expressions.subqueries import SubqueryExpression
from ....planner.model.expressions.windows import PreciseTimestampConversion
from ....planner.model.functions.build import call, is_call, null_intolerant
from ....planner.model.memo import remembered
from ....planner.model.plans.logical import Aggregate, Expand, Filter, Join, Project, Union
from ....planner.model.plans.query_plan import LogicalPlan, UnaryNode
from ...common.trees import by_place, replace_attributes

NONE = ExpressionSet()


@remembered
def constraints(plan: LogicalPlan) -> ExpressionSet:
    """The conditions over the plan's columns that are true for all its rows, in Spark's order.

    First those that operators state, then what equalities add, then `isnotnull` of every column
    that a null-intolerant condition mentions.
    """
    stated = _stated(plan)
    output = plan.output_ids
    return ExpressionSet(
        e
        for e in stated.union(from_equalities(stated)).union(not_null(stated, plan.output))
        if e.references and e.references <= output and e.deterministic
    )


def _stated(plan: LogicalPlan) -> ExpressionSet:
    match plan:
        case Filter():
            return constraints(plan.child).union(split_conjuncts(plan.condition))
        case Project():
            return _renamed(plan.child, plan.project_list)
        case Aggregate():
            # What is computed of a group holds of none of its rows.
            whole = [e for e in plan.aggregates if not e.holds(AggregateExpression)]
            return _renamed(plan.child, whole)
        case Expand():
            return NONE
        case Union():
            return _of_union(plan)
        case Join():
            return _of_join(plan)
        case UnaryNode():
            return constraints(plan.child)
    return NONE


def _renamed(child: LogicalPlan, items: Sequence[Expression]) -> ExpressionSet:
    """The child's constraints, also in terms of the select list's columns."""
    known = list(constraints(child))
    for item in items:
        if not isinstance(item, Alias):
            continue
        column, value = to_attribute(item), item.child
        if isinstance(value, Literal):
            known.append(call("<=>", column, value))
        elif value.deterministic:
            known += list(_in_terms_of(known, value, column))
            known.append(call("<=>", value, column))
    return ExpressionSet(known)


def _in_terms_of(
    known: Iterable[Expression], value: Expression, column: AttributeReference
) -> Iterator[Expression]:
    key = canonical(value)
    for constraint in known:
        if value.references <= constraint.references:
            renamed = _replaced(constraint, key, column)
            if renamed is not constraint:
                yield renamed


def _replaced(expression: Expression, key: Canonical, new: Expression) -> Expression:
    if canonical(expression) == key:
        return new
    return expression.map_children(lambda child: _replaced(child, key, new))


def _of_union(plan: Union) -> ExpressionSet:
    first = plan.inputs[0]
    return reduce(
        _merged,
        (
            ExpressionSet(replace_attributes(e, by_place(child, first)) for e in constraints(child))
            for child in plan.inputs
        ),
    )


def _merged(one: ExpressionSet, other: ExpressionSet) -> ExpressionSet:
    common = [e for e in one if e in other]
    left, right = _by_column(one.without(common)), _by_column(other.without(common))
    loose: list[Expression] = [
        disjunction([conjunction(left[column]), conjunction(right[column])])
        for column in left
        if column in right
    ]
    return ExpressionSet([*common, *loose])


def _by_column(expressions: ExpressionSet) -> dict[int, list[Expression]]:
    found: dict[int, list[Expression]] = {}
    for expression in expressions:
        if len(expression.references) == 1:
            (column,) = expression.references
            found.setdefault(column, []).append(expression)
    return found


def _of_join(plan: Join) -> ExpressionSet:
    conjuncts = split_conjuncts(plan.condition)
    match plan.join_type:
        case "Inner" | "Cross":
            return constraints(plan.left).union(constraints(plan.right)).union(conjuncts)
        case "LeftSemi":
            return constraints(plan.left).union(conjuncts)
        case "LeftOuter" | "LeftSingle" | "LeftAnti" | "ExistenceJoin":
            return constraints(plan.left)
        case "RightOuter":
            return constraints(plan.right)
    return NONE


def from_equalities(known: ExpressionSet) -> ExpressionSet:
    """What follows by putting one side of `a = b` for the other: from `a > 5` also `b > 5`."""
    predicates = [
        e
        for e in known
        if not is_call(e, "isnotnull")
        and not any(query.correlated for query in e.collect(SubqueryExpression))
    ]
    found: list[Expression] = []
    constant: list[Expression] = []
    for equality in predicates:
        if not is_call(equality, "="):
            continue
        left, right = equality.children
        others = [e for e in predicates if e is not equality]
        for one, other in ((left, right), (right, left)):
            if isinstance(one, AttributeReference) and _is_column(other):
                found += [_replaced(e, canonical(one), other) for e in others]
        if isinstance(left, AttributeReference) and isinstance(right, Literal):
            # Not into equalities of columns: what follows from these is found by columns.
            compared = [e for e in others if not _equates_columns(e)]
            constant += [_replaced(e, canonical(left), right) for e in compared]
    return ExpressionSet([*found, *constant]).without(known)


def _equates_columns(expression: Expression) -> bool:
    return (is_call(expression, "=") or is_call(expression, "<=>")) and all(
        isinstance(side, AttributeReference) for side in expression.children
    )


def _is_column(expression: Expression) -> bool:
    """A column, or the cast of one."""
    inner = expression.child if isinstance(expression, Cast) else expression
    return isinstance(inner, AttributeReference)


def not_null(known: Iterable[Expression], output: Sequence[AttributeReference]) -> ExpressionSet:
    """`isnotnull` of the columns that cannot be null where the conditions hold."""
    found: list[Expression] = []
    known = list(known)
    for condition in known:
        inner = condition.children[0] if is_call(condition, "isnotnull") else condition
        found += [call("isnotnull", column) for column in _intolerant_columns(inner)]
    found += [call("isnotnull", column) for column in output if not column.nullable]
    return ExpressionSet(found).without(known)


def _intolerant_columns(expression: Expression) -> Iterator[Expression]:
    if isinstance(expression, AttributeReference):
        yield expression
    elif isinstance(expression, GetStructField):
        inner: Expression = expression
        while isinstance(inner, GetStructField):
            inner = inner.child
        # A field of a column is checked as a whole: `isnotnull(address.zip)`.
        if isinstance(inner, AttributeReference):
            yield expression
        else:
            yield from _intolerant_columns(inner)
    elif isinstance(expression, PreciseTimestampConversion) or (
        isinstance(expression, Call | Cast) and null_intolerant(expression)
    ):
        for child in expression.children:
            yield from _intolerant_columns(child)
