"""Constants that cannot be computed."""

from __future__ import annotations

from ...planner.model.conf import Conf
from ...planner.model.errors import PlanningError
from ...planner.model.expressions import Call, CaseWhen, Cast, Expression, Literal, Origin
from ...planner.model.fragments import fragment_context
from ...planner.model.functions.casts import may_be_null
from ...planner.model.literal_text import literal_pretty
from ...planner.model.logical import LogicalPlan
from ...planner.model.types import NumericType, StringType

_BYPASS = (
    'If necessary set "spark.sql.ansi.enabled" to "false" to bypass this error. SQLSTATE: 22012'
)
_DIVISIONS = {
    "/": ("DIVIDE_BY_ZERO", "Division", "try_divide"),
    "div": ("DIVIDE_BY_ZERO", "Division", "try_divide"),
    "%": ("REMAINDER_BY_ZERO", "Remainder", "try_mod"),
    "mod": ("REMAINDER_BY_ZERO", "Remainder", "try_mod"),
}


def refuse_failing_constants(plan: LogicalPlan, conf: Conf) -> LogicalPlan:
    """A query that computes a constant which must fail is refused: `1 / 0`, `CAST('x' AS INT)`.

    Gives the plan itself. Not inside of IF, CASE and COALESCE: the branch may never be taken.

    Raises:
        PlanningError: DIVIDE_BY_ZERO, REMAINDER_BY_ZERO or CAST_INVALID_INPUT, in Spark's words.
    """
    if conf.ansi:
        _refuse_in(plan)
    return plan


def _refuse_in(plan: LogicalPlan) -> None:
    for expression in plan.expressions:
        if not _is_fine(expression):
            _refuse(expression)
    for child in plan.children:
        _refuse_in(child)


def _is_fine(expression: Expression) -> bool:
    """Whether nothing in it is a constant but literals; kept on the (immutable) expression."""
    known: bool | None = expression.__dict__.get("_fine")
    if known is None:
        known = isinstance(expression, Literal) or (
            not (expression.children and expression.foldable)
            and all(_is_fine(child) for child in expression.children)
        )
        expression.__dict__["_fine"] = known
    return known


def _refuse(expression: Expression) -> None:
    conditional = isinstance(expression, CaseWhen) or (
        isinstance(expression, Call) and expression.name in ("if", "coalesce")
    )
    children = expression.children[:1] if conditional else expression.children
    for child in children:
        _refuse(child)
    if isinstance(expression, Call) and expression.name in _DIVISIONS and expression.ansi:
        _check_division(expression)
    elif isinstance(expression, Cast) and expression.mode == "ANSI":
        _check_cast(expression)


def _check_division(division: Call) -> None:
    left, right = division.arguments
    if not isinstance(left, Literal) or not isinstance(right, Literal):
        return
    if left.value is None or right.value is None or right.value != 0:
        return
    condition, what, instead = _DIVISIONS[division.name]
    raise _failure(
        condition,
        f"{what} by zero. Use `{instead}` to tolerate divisor being 0 and return NULL instead. "
        f"{_BYPASS}",
        division.origin,
        f"Divide by something else, or use {instead}.",
    )


def _check_cast(cast: Cast) -> None:
    value, target = cast.child, cast.type_
    if not isinstance(value, Literal) or value.value is None:
        return
    if not isinstance(value.type_, StringType) or not isinstance(target, NumericType):
        return
    if not may_be_null(value.type_, target, "LEGACY"):
        return
    raise _failure(
        "CAST_INVALID_INPUT",
        f"The value '{literal_pretty(value)}' of the type \"STRING\" cannot be cast to "
        f'"{target.sql}" because it is malformed. Correct the value as per the syntax, or change '
        "its target type. Use `try_cast` to tolerate malformed input and return NULL instead. "
        "SQLSTATE: 22018",
        cast.origin,
        "Write a number, or use try_cast.",
    )


def _failure(condition: str, message: str, origin: Origin | None, hint: str) -> PlanningError:
    text = f"[{condition}] {message}"
    if origin is not None and origin.source:
        text += f"\n{fragment_context(origin)}"
    return PlanningError(condition, text, hint=hint)
