"""Comparisons that are known or have a simpler form; IN lists and LIKE as comparisons."""

from __future__ import annotations

import re

from ....planner.model.expressions.core import Call, Expression, Literal, lit
from ....planner.model.expressions.equality import ExpressionSet, canonical, same
from ....planner.model.expressions.predicates import balanced, split_conjuncts
from ....planner.model.functions.build import (
    NULL_BOOLEAN,
    call,
    is_comparison,
    is_false,
    is_true,
    negate,
)
from ....planner.model.plans.logical import Filter
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.schemas.types import StringType
from ....planner.model.settings.conf import Conf
from ....planner.model.tree import replace
from ...common.trees import bottom_up
from ..support.settings import current
from .replace_expressions import is_cheap


def simplify_comparisons(expression: Expression) -> Expression:
    """`a = true` -> `a`, `a = false` -> `NOT a`, `a <=> a` -> `true`, `a >= a` -> `true`.

    A comparison with itself is decided only where the operand cannot be null.
    """
    assert isinstance(expression, Call)
    left, right = expression.arguments
    if same(left, right):
        if expression.name == "<=>":
            return lit(True)
        if not left.nullable and not right.nullable:
            return lit(_allows_equal(expression))
    if expression.name not in ("=", "<=>"):
        return expression
    for constant, other in ((right, left), (left, right)):
        if expression.name == "<=>" and other.nullable:
            continue
        if is_true(constant):
            return other
        if is_false(constant):
            return negate(other)
    return expression


def _allows_equal(comparison: Call) -> bool:
    """Whether it is true of equal sides: all but `<` and `>` are."""
    return comparison.name not in ("<", ">")


@bottom_up(Filter)
def simplify_comparisons_below_null_checks(node: Filter, conf: Conf) -> LogicalPlan:
    """`Filter (isnotnull(a) AND (a <= a))` -> `Filter (isnotnull(a) AND true)`. Idempotent."""
    known = {
        canonical(part.arguments[0])
        for part in split_conjuncts(node.condition)
        if isinstance(part, Call) and part.name == "isnotnull"
    }

    def decided(expression: Expression) -> Expression:
        if isinstance(expression, Call) and is_comparison(expression):
            left, right = expression.arguments
            if same(left, right) and canonical(left) in known:
                return lit(_allows_equal(expression))
        return expression

    return node.transform_expressions(decided) if known else node


def optimize_in(expression: Expression) -> Expression:
    """Repetitions in a list of literals go; a list of one becomes `=`, a long one a set.

    `a IN (1, 1, 2)` -> `a IN (1, 2)`; `a IN (1)` -> `a = 1`; more than ten: `a INSET ...`. Nothing
    is in a list of none; null is not, either, in ANSI mode.
    """
    assert isinstance(expression, Call)
    value, *items = expression.arguments
    if not items:
        never = lit(False)
        known = call("isnotnull", value)
        return never if expression.ansi else call("if", known, never, NULL_BOOLEAN)
    if not all(isinstance(item, Literal) for item in items):
        return expression
    distinct = list(ExpressionSet(items))
    if len(distinct) == 1 and not _is_struct(value) and not _is_struct(distinct[0]):
        return call("=", value, distinct[0])
    name = "inset" if len(distinct) > current().in_set else expression.name
    if name == expression.name and len(distinct) == len(items):
        return expression
    return replace(expression, name=name, arguments=(value, *distinct))


def _is_struct(expression: Expression) -> bool:
    return isinstance(expression, Call) and expression.name in ("named_struct", "struct")


_FORMS = {
    re.compile(r"([^_%]+)%"): "startswith",
    re.compile(r"%([^_%]+)"): "endswith",
    re.compile(r"%([^_%]+)%"): "contains",
    re.compile(r"([^_%]*)"): "=",
}
_BOTH = re.compile(r"([^_%]+)%([^_%]+)")


def simplify_like(expression: Expression) -> Expression:
    """LIKE becomes StartsWith, EndsWith, Contains or `=` where the pattern allows it.

    `a LIKE 'x%'` -> `StartsWith(a, x)`. Patterns with an escape character stay.
    """
    assert isinstance(expression, Call)
    if expression.name == "like":
        return _like(expression)
    return _like_many(expression)


def _like(like: Call) -> Expression:
    value, pattern = like.arguments[:2]
    if not isinstance(pattern, Literal) or not isinstance(pattern.type_, StringType):
        return like
    if pattern.value is None:
        return NULL_BOOLEAN
    return _simple(value, str(pattern.value), _escape(like)) or like


def _escape(like: Call) -> str:
    if like.options:
        return str(like.options[0])
    if len(like.arguments) > 2 and isinstance(like.arguments[2], Literal):
        return str(like.arguments[2].value)
    return "\\"


def _simple(value: Expression, pattern: str, escape: str) -> Expression | None:
    if escape in pattern:
        return None
    for form, name in _FORMS.items():
        if found := form.fullmatch(pattern):
            return call(name, value, lit(found[1]))
    if found := _BOTH.fullmatch(pattern):
        first, last = found[1], found[2]
        long_enough = call(">=", call("length", value), lit(len(first) + len(last)))
        ends = call("endswith", value, lit(last))
        return call("and", long_enough, call("and", call("startswith", value, lit(first)), ends))
    return None


def _like_many(like: Call) -> Expression:
    value, *patterns = like.arguments
    if not is_cheap(value):  # each test would compute it again
        return like
    tests: list[Expression] = []
    left: list[Expression] = []
    for pattern in patterns:
        assert isinstance(pattern, Literal)
        simple = _simple(value, str(pattern.value), "\\")
        if simple is None:
            left.append(pattern)
        else:
            tests.append(negate(simple) if like.name.startswith("not") else simple)
    if not tests:
        return like
    joint = "and" if like.name.endswith("all") else "or"
    joined = balanced(joint, tests)
    return call(joint, joined, replace(like, arguments=(value, *left))) if left else joined
