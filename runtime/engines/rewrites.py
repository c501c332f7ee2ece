"""Exact forms of what the embedded engine computes otherwise than Spark.

A rewrite is a name and a text of the engine's SQL over the arguments (`{0}`, `{1}`, and `{plain}`
for what Spark would be given) that has Spark's value, type, nulls and errors. The comparison
(tests/compare_engines.py) measures every rewrite that fits a signature; the table's section
`rewritten` names the one that is equal, and only that is used. An argument that is a rewritten form
itself is computed once, by a select below (plan/passes/share_arguments.py).

What has to fail raises Spark's own message: `embedded_errors` reads condition and SQLSTATE from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...planner.model.expressions.core import (
    Call,
    CaseWhen,
    Expression,
    LambdaFunction,
    Literal,
)
from ...planner.model.schemas.types import (
    BooleanType,
    DecimalType,
    DoubleType,
    FloatType,
    contains_type,
)
from ...planner.model.text.spark_sql import type_sql
from . import rewrites_numbers as numbers
from . import rewrites_times as times
from .exact import COMPARABLE, ExactForm, text

Rewrite = Callable[[Expression, str], str | None]
"""From an expression and the session's time zone to the form's SQL; None where it does not fit."""


def fitting(expression: Expression, time_zone: str) -> Iterator[ExactForm]:
    """The rewrites that fit an expression in a session of that time zone, in order."""
    if isinstance(expression, LambdaFunction):
        return
    for name, rewrite in REWRITES.items():
        template = rewrite(expression, time_zone)
        if template is not None:
            yield ExactForm(original=expression, rewrite=name, template=template)


def _typed(expression: Expression, time_zone: str) -> str | None:
    """The engine's value in Spark's type, where only the type is another; not its digits."""
    if contains_type(expression.data_type, DecimalType):
        return None
    return f"CAST({{plain}} AS {type_sql(expression.data_type)})"


def _lazy(expression: Expression, time_zone: str) -> str | None:
    """Conditions of which a part is computed only for the rows that the parts before leave open."""
    match expression:
        case Call(name="and" | "or", arguments=(_, _)):
            return lazy_sql(expression.name, 2)
        case Call(name="if", data_type=BooleanType()):
            return lazy_sql("if", 3)
        case CaseWhen(data_type=BooleanType(), conditions=(_,)):
            return lazy_sql("case", len(expression.children))
    return None


def lazy_sql(name: str, count: int) -> str:
    """The lazy form of AND, OR, IF or a CASE of one condition, over `count` parts.

    The engine makes AND and OR of a CASE of booleans, and computes all parts of these: the CASE is
    one of numbers.
    """
    match name:
        case "and":
            case = "WHEN coalesce({0}, true) THEN CAST(({0} AND {1}) AS INT) ELSE 0"
        case "or":
            case = "WHEN coalesce({0}, false) THEN 1 ELSE CAST(({0} OR {1}) AS INT)"
        case _:
            otherwise = "CAST({2} AS INT)" if count == 3 else "NULL"
            case = f"WHEN {{0}} THEN CAST({{1}} AS INT) ELSE {otherwise}"
    return f"((CASE {case} END) = 1)"


def _never_null(expression: Expression, time_zone: str) -> str | None:
    """Functions of Spark that are false for null."""
    if isinstance(expression, Call) and expression.name == "isnan":
        return "coalesce({plain}, false)"
    return None


def _raised(expression: Expression, time_zone: str) -> str | None:
    """A user's own error keeps Spark's condition."""
    if not isinstance(expression, Call) or expression.name not in ("raise_error", "assert_true"):
        return None
    start, end = text("[USER_RAISED_EXCEPTION] "), text(" SQLSTATE: P0001")
    if expression.name == "assert_true" and len(expression.arguments) == 2:
        failure = f"raise_error(concat({start}, {{1}}, {end}))"
        return f"(CASE WHEN coalesce({{0}}, false) THEN NULL ELSE {failure} END)"
    return f"raise_error(concat({start}, element_at({{1}}, 'errorMessage'), {end}))"


def _with_nulls(expression: Expression, time_zone: str) -> str | None:
    """Nothing found in an array that holds a null is null, not false."""
    if not isinstance(expression, Call) or expression.name != "array_contains":
        return None
    return (
        "(CASE WHEN ({0}) IS NULL OR ({1}) IS NULL THEN NULL WHEN {plain} THEN true "
        "WHEN size(array_compact({0})) < size({0}) THEN NULL ELSE false END)"
    )


def _from_the_start(expression: Expression, time_zone: str) -> str | None:
    """regexp_replace from the first sign on: the engine's takes no position."""
    match expression:
        case Call(name="regexp_replace", arguments=(_, _, _, Literal(value=1))):
            return "regexp_replace({0}, {1}, {2})"
    return None


def comparable(key: Expression) -> Expression:
    """A key of an order; for floats the engine has -NaN first and -0.0 before 0.0, Spark neither.

    The comparison measures orders over keys in this form.
    """
    if not isinstance(key.data_type, FloatType | DoubleType) or isinstance(key, ExactForm):
        return key
    return normalized(key)


def normalized(key: Expression) -> ExactForm:
    """A float with one NaN and one zero, as keys of groups and orders have it."""
    kind = key.data_type.simple
    form = f"(CASE WHEN isnan({{0}}) THEN CAST('NaN' AS {kind}) ELSE {{0}} + CAST(0 AS {kind}) END)"
    original = Call(name="normalizenanandzero", arguments=(key,))
    return ExactForm(original=original, rewrite=COMPARABLE, template=form)


REWRITES: dict[str, Rewrite] = {
    "known": times.epoch,
    "days": times.days,
    "typed": _typed,
    "from the start": _from_the_start,
    "rounded": numbers.rounded,
    "item": numbers.item,
    "element": numbers.element,
    "divided": numbers.divided,
    "divided to null": numbers.divided_to_null,
    "raised": _raised,
    "with nulls": _with_nulls,
    "truncated": times.truncated,
    "local": times.local,
    "checked": numbers.checked,
    "never null": _never_null,
}
GUARDED = {"lazy": _lazy}
"""Rewrites for what would fail in a part that Spark does not compute."""
