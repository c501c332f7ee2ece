"""Boolean algebra over AND, OR and NOT."""

from __future__ import annotations

from ....planner.model.expressions.core import Call, Expression
from ....planner.model.expressions.equality import ExpressionSet, canonical, same
from ....planner.model.expressions.predicates import balanced, split
from ....planner.model.tree import replace
from ..support.calls import call, is_call, is_false, is_null, is_true, negate, null_of, truth


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
        return truth(is_false(inner))
    if not isinstance(inner, Call):
        return expression
    negation = inner.spec.negation
    if negation is not None:
        # It stands where the comparison stood, for what is told of its operands.
        return replace(call(negation, *inner.arguments), origin=inner.origin)
    match inner.name:
        case "or":
            return call("and", negate(inner.arguments[0]), negate(inner.arguments[1]))
        case "and":
            return call("or", negate(inner.arguments[0]), negate(inner.arguments[1]))
        case "not":
            return inner.arguments[0]
        case "isnull":
            return call("isnotnull", inner.arguments[0])
        case "isnotnull":
            return call("isnull", inner.arguments[0])
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
        return truth(name == "or")
    if is_opposite(left, right):
        plain = right if is_call(left, "not") else left
        check = call("isnull", plain)
        return call("if", check, null_of(plain.data_type), truth(name == "or"))
    if same(left, right):
        return left
    return (
        _without_opposite(left, right, name, other)
        or _without_opposite_mirrored(left, right, name, other)
        or _factored(expression, left, right, name, other)
    )


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
    """`a AND (NOT a OR c)` -> `a AND c`, for an a that is never null."""
    if left.nullable or not is_call(right, other):
        return None
    first, second = right.children
    if is_opposite(left, first):
        return call(name, left, second)
    return call(name, left, first) if is_opposite(left, second) else None


def _without_opposite_mirrored(
    left: Expression, right: Expression, name: str, other: str
) -> Expression | None:
    if right.nullable or not is_call(left, other):
        return None
    first, second = left.children
    if is_opposite(first, right):
        return call(name, second, right)
    return call(name, first, right) if is_opposite(second, right) else None


def _factored(
    expression: Call, left: Expression, right: Expression, name: str, other: str
) -> Expression:
    lefts, rights = split(left, other), split(right, other)
    right_keys = {canonical(e) for e in rights if e.deterministic}
    common = [e for e in lefts if e.deterministic and canonical(e) in right_keys]
    if common:
        keys = {canonical(e) for e in common}
        left_rest = [e for e in lefts if canonical(e) not in keys]
        right_rest = [e for e in rights if canonical(e) not in keys]
        if not left_rest or not right_rest:
            return _deep(other, common)
        return _deep(
            other, [*common, call(name, _deep(other, left_rest), _deep(other, right_rest))]
        )
    everything = split(left, name) + split(right, name)
    distinct = list(ExpressionSet(everything))
    return expression if len(distinct) == len(everything) else balanced(name, distinct)


def _deep(name: str, parts: list[Expression]) -> Expression:
    result = parts[0]
    for part in parts[1:]:
        result = call(name, result, part)
    return result


def null_to_false(expression: Expression) -> Expression:
    """In a condition, null counts as false: `a OR null` -> `a OR false`, through IF and CASE."""
    from .conditionals import map_branches

    if is_null(expression):
        return truth(False)
    if is_call(expression, "and") or is_call(expression, "or"):
        return expression.map_children(null_to_false)
    return map_branches(expression, null_to_false)
