"""Boolean algebra over AND, OR and NOT; IF and CASE with conditions or values that are known."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce

from ....planner.model.expressions.core import (
    TRUE,
    Call,
    CaseWhen,
    Expression,
)
from ....planner.model.expressions.equality import ExpressionSet, canonical, same
from ....planner.model.expressions.literal import lit
from ....planner.model.expressions.predicates import balanced, split
from ....planner.model.functions.build import (
    call,
    is_boolean,
    is_call,
    is_false,
    is_null,
    is_true,
    negate,
    null,
)
from ....planner.model.tree import replace


def simplify_booleans(expression: Expression) -> Expression:
    """AND, OR and NOT in simpler form: neutral and absorbing operands, De Morgan, common factors.

    `(a AND b) OR (a AND c)` -> `a AND (b OR c)`; `NOT (a > b)` -> `a <= b`.
    """
    assert isinstance(expression, Call)
    if expression.name == "not":
        return _not(expression)
    return _connective(expression)


def _not(expression: Call) -> Expression:
    inner = expression.arguments[0]
    if is_true(inner) or is_false(inner):
        return lit(is_false(inner))
    if not isinstance(inner, Call):
        return expression
    negation = inner.spec.negation
    if negation is not None:
        # It stands where the comparison stood: messages name the place of its operands.
        return replace(call(negation, *inner.arguments), origin=inner.origin)
    match inner.name:
        case "or" | "and":
            return call("and" if inner.name == "or" else "or", *map(negate, inner.arguments))
        case "not":
            return inner.arguments[0]
        case "isnull" | "isnotnull":
            return call("isnotnull" if inner.name == "isnull" else "isnull", *inner.arguments)
    return expression


def _connective(expression: Call) -> Expression:
    name = expression.name
    other = "or" if name == "and" else "and"
    left, right = expression.arguments
    neutral, absorbing = (is_true, is_false) if name == "and" else (is_false, is_true)
    if neutral(left):
        return right
    if neutral(right):
        return left
    if absorbing(left) or absorbing(right):
        return lit(name == "or")
    if is_opposite(left, right):
        plain = right if is_call(left, "not") else left
        check = call("isnull", plain)
        return call("if", check, null(plain.data_type), lit(name == "or"))
    if same(left, right):
        return left
    return _without_opposite(left, right, name, other) or _factored(expression, other)


def is_opposite(left: Expression, right: Expression) -> bool:
    """Whether one is NOT the other: `NOT a` and `a`, `a > b` and `a <= b`."""
    if is_call(right, "not") and same(left, right.children[0]):
        return True
    if is_call(left, "not") and same(left.children[0], right):
        return True
    if not (isinstance(left, Call) and isinstance(right, Call)):
        return False
    return left.spec.negation == right.name and all(map(same, left.children, right.children))


def _without_opposite(
    left: Expression, right: Expression, name: str, other: str
) -> Expression | None:
    """`a AND (NOT a OR c)` -> `a AND c`, for an a that is never null; so mirrored."""
    for plain, mixed in ((left, right), (right, left)):
        if plain.nullable or not is_call(mixed, other):
            continue
        for opposite, rest in (mixed.children, mixed.children[::-1]):
            if is_opposite(plain, opposite):
                return call(name, left, rest) if plain is left else call(name, rest, right)
    return None


def _factored(expression: Call, other: str) -> Expression:
    """`(a AND b) OR (a AND c)` -> `a AND (b OR c)`; `other` is the connective within."""
    name, (left, right) = expression.name, expression.arguments
    lefts, rights = split(left, other), split(right, other)
    right_keys = {canonical(e) for e in rights if e.deterministic}
    common = [e for e in lefts if e.deterministic and canonical(e) in right_keys]
    if common:
        keys = {canonical(e) for e in common}
        left_rest = [e for e in lefts if canonical(e) not in keys]
        right_rest = [e for e in rights if canonical(e) not in keys]
        if left_rest and right_rest:
            common.append(call(name, _deep(other, left_rest), _deep(other, right_rest)))
        return _deep(other, common)
    everything = split(left, name) + split(right, name)
    distinct = list(ExpressionSet(everything))
    return expression if len(distinct) == len(everything) else balanced(name, distinct)


def _deep(name: str, parts: list[Expression]) -> Expression:
    return reduce(partial(call, name), parts)


def null_to_false(expression: Expression) -> Expression:
    """In a condition, null counts as false: `a OR null` -> `a OR false`, through IF and CASE."""

    if is_null(expression):
        return lit(False)
    if is_call(expression, "and") or is_call(expression, "or"):
        return expression.map_children(null_to_false)
    return map_branches(expression, null_to_false)


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
    if (known := _truth_of(condition, yes, no)) is not None:
        return known
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
        known = _truth_of(conditions[0], values[0], otherwise)
        if known is not None:
            return known
    branches = list(zip(conditions, values, strict=True))
    kept = [(c, v) for c, v in branches if not (is_false(c) or is_null(c))]
    if len(kept) < len(branches):
        if not kept:
            return null(case.data_type) if otherwise is None else otherwise
        return _with_branches(case, kept, otherwise)
    if is_true(conditions[0]):
        return values[0]
    if any(is_true(c) for c in conditions):
        end = next(i for i, c in enumerate(conditions) if is_true(c))
        if end + 1 < len(conditions) or otherwise is not None:
            return _with_branches(case, branches[: end + 1], None)
    return _case_values(case)


def _truth_of(condition: Expression, yes: Expression, no: Expression) -> Expression | None:
    """The condition, or its negation, where one value is true and the other false."""
    known = call("<=>", condition, TRUE) if condition.nullable else condition
    if is_true(yes) and is_false(no):
        return known
    return negate(known) if is_false(yes) and is_true(no) else None


def _case_values(case: CaseWhen) -> Expression:
    otherwise = case.otherwise if case.otherwise is not None else null(case.data_type)
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
    conditions, values = zip(*branches, strict=True)
    return replace(case, conditions=conditions, values=values, otherwise=otherwise)


def map_branches(
    expression: Expression, function: Callable[[Expression], Expression]
) -> Expression:
    """A boolean IF or CASE with the function applied to conditions and values alike.

    A missing ELSE counts as null. Other expressions stay as they are.
    """
    if isinstance(expression, CaseWhen) and is_boolean(expression):
        whole: Expression = expression
        if expression.otherwise is None:
            whole = replace(expression, otherwise=null(expression.data_type))
        return whole.map_children(function)
    if is_call(expression, "if") and is_boolean(expression):
        return expression.map_children(function)
    return expression


def push_into_branches(expression: Expression) -> Expression:
    """An operation on an IF or CASE goes into its branches, if at most one value is no constant.

    `if(c, 'a', 'b') = 'a'` -> `if(c, 'a' = 'a', 'b' = 'a')`, which folds further.
    """
    if len(expression.children) == 1:
        return _pushed(expression, 0)
    if len(expression.children) == 2:
        left, right = expression.children
        if right.foldable:
            pushed = _pushed(expression, 0)
            if pushed is not expression:
                return pushed
        if left.foldable:
            return _pushed(expression, 1)
    return expression


def _pushed(outer: Expression, position: int) -> Expression:
    inner = outer.children[position]

    def around(value: Expression) -> Expression:
        children = list(outer.children)
        children[position] = value
        return outer.with_new_children(tuple(children))

    if is_call(inner, "if"):
        assert isinstance(inner, Call)
        condition, yes, no = inner.arguments
        if sum(not value.foldable for value in (yes, no)) > 1:
            return outer
        return replace(inner, arguments=(condition, around(yes), around(no)))
    if isinstance(inner, CaseWhen):
        values = inner.values if inner.otherwise is None else (*inner.values, inner.otherwise)
        if sum(not value.foldable for value in values) > 1:
            return outer
        otherwise = inner.otherwise if inner.otherwise is not None else null(inner.data_type)
        return replace(
            inner,
            values=tuple(around(value) for value in inner.values),
            otherwise=around(otherwise),
        )
    return outer
