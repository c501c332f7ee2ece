"""IF and CASE with conditions or values that are known."""

from __future__ import annotations

from collections.abc import Callable

from ....planner.model.expressions.core import TRUE, Call, CaseWhen, Expression
from ....planner.model.expressions.equality import same
from ....planner.model.tree import replace
from ..support.calls import call, is_boolean, is_call, is_false, is_null, is_true, negate, null_of


def simplify_conditionals(expression: Expression) -> Expression:
    """IF and CASE without branches that are never (or always) taken.

    `if(true, a, b)` -> `a`; `if(c, true, false)` -> `c` (or `c <=> true` where c may be null);
    `CASE WHEN false THEN a WHEN c THEN b ELSE null END` -> `CASE WHEN c THEN b END`.
    """
    if isinstance(expression, CaseWhen):
        return _case(expression)
    assert isinstance(expression, Call)
    return _if(expression)


def _if(expression: Call) -> Expression:
    condition, yes, no = expression.arguments
    if is_true(condition):
        return yes
    if is_false(condition) or is_null(condition):
        return no
    if is_true(yes) and is_false(no):
        return call("<=>", condition, TRUE) if condition.nullable else condition
    if is_false(yes) and is_true(no):
        return negate(call("<=>", condition, TRUE) if condition.nullable else condition)
    if condition.deterministic and same(yes, no):
        return yes
    if condition.nullable or not is_boolean(expression):
        return expression
    if is_null(yes) and is_false(no):
        return call("and", condition, yes)
    if is_null(yes) and is_true(no):
        return call("or", negate(condition), yes)
    if is_false(yes) and is_null(no):
        return call("and", negate(condition), no)
    if is_true(yes) and is_null(no):
        return call("or", condition, no)
    return expression


def _case(case: CaseWhen) -> Expression:
    conditions, values, otherwise = case.conditions, case.values, case.otherwise
    if len(conditions) == 1 and otherwise is not None:
        condition, value = conditions[0], values[0]
        if is_true(value) and is_false(otherwise):
            return call("<=>", condition, TRUE) if condition.nullable else condition
        if is_false(value) and is_true(otherwise):
            return negate(call("<=>", condition, TRUE) if condition.nullable else condition)
    if any(is_false(c) or is_null(c) for c in conditions):
        kept = [
            (c, v)
            for c, v in zip(conditions, values, strict=True)
            if not (is_false(c) or is_null(c))
        ]
        if not kept:
            return null_of(case.data_type) if otherwise is None else otherwise
        return _with_branches(case, kept, otherwise)
    if is_true(conditions[0]):
        return values[0]
    if any(is_true(c) for c in conditions):
        end = next(i for i, c in enumerate(conditions) if is_true(c))
        if end + 1 < len(conditions) or otherwise is not None:
            pairs = list(zip(conditions[: end + 1], values[: end + 1], strict=True))
            return _with_branches(case, pairs, None)
    return _case_values(case)


def _case_values(case: CaseWhen) -> Expression:
    otherwise = case.otherwise if case.otherwise is not None else null_of(case.data_type)
    if all(c.deterministic for c in case.conditions) and all(
        same(value, otherwise) for value in case.values
    ):
        return otherwise
    if case.otherwise is not None and is_null(case.otherwise):
        return replace(case, otherwise=None)
    return case


def _with_branches(
    case: CaseWhen, branches: list[tuple[Expression, Expression]], otherwise: Expression | None
) -> CaseWhen:
    return replace(
        case,
        conditions=tuple(c for c, _ in branches),
        values=tuple(v for _, v in branches),
        otherwise=otherwise,
    )


def map_branches(
    expression: Expression, function: Callable[[Expression], Expression]
) -> Expression:
    """A boolean IF or CASE with the function applied to conditions and values alike.

    A missing ELSE counts as null. Other expressions stay as they are.
    """
    if isinstance(expression, CaseWhen) and is_boolean(expression):
        whole: Expression = expression
        if expression.otherwise is None:
            whole = replace(expression, otherwise=null_of(expression.data_type))
        return whole.map_children(function)
    if is_call(expression, "if") and is_boolean(expression):
        return expression.map_children(function)
    return expression
