"""What the embedded engine computes exactly as Spark does: the table, and questions to it.

The table, `agreement.json`, is measured and written by `tests/compare_engines.py`, never by hand.
What is not in it is not used. No engine is needed to read it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import cast

from ...planner.model.expressions.core import Call, Expression, LambdaFunction
from ...planner.model.expressions.windows import WindowExpression
from ...planner.model.schemas.types import BooleanType, DataType, StructType
from ..plan.guarded import guarded_arguments
from .exact import COMPARABLE, ExactForm
from .rewrites_times import UTC
from .signatures import Signature, kinds, option_signature, signatures
from .windows import computed_of, never_compared, steps_of

TABLE = Path(__file__).with_name("agreement.json")
EQUAL = "equal"
FAILS = ", also where it fails"
RAISES = EQUAL + FAILS
"""The verdict on what agrees and can fail: the failing rows and Spark's condition agree, too."""


@dataclass(frozen=True)
class Disagreement:
    """A part of an expression that the embedded engine cannot be asked for, and the reason."""

    expression: Expression
    reason: str


@dataclass(frozen=True)
class Setting:
    """What decides a verdict besides the signature: the session's ANSI mode and time zone."""

    ansi: bool
    time_zone: str

    @property
    def keys(self) -> tuple[str, ...]:
        """The table's keys for verdicts under this setting."""
        mode = "ansi" if self.ansi else "legacy"
        zone = "UTC" if self.time_zone in UTC else "other zones"
        return f"{mode}, {zone}", mode, zone


def disagreements(
    expression: Expression, *, ansi: bool, time_zone: str
) -> tuple[Disagreement, ...]:
    """The parts of a resolved expression that the engine does not compute as Spark does.

    Args:
        expression: as the optimizer leaves it; columns may be of any input.
        ansi: the session's `spark.sql.ansi.enabled`.
        time_zone: the session's `spark.sql.session.timeZone`.

    Returns:
        From the outermost part to the innermost, none where all agrees. A part is named for what
        it does itself: in `upper(f(x))` with a wrong `f` that is `f(x)` alone.
    """
    setting = Setting(ansi, time_zone)
    found = []
    for part in _parts(expression):
        reason = _exact_reason(part, setting)
        if reason is not None:
            found.append(Disagreement(part, reason))
    return tuple(found)


def can_fail(expression: Expression, *, ansi: bool, time_zone: str) -> bool:
    """Whether a part of the expression can stop a query (a division by zero, a bad cast)."""
    return any(_fails(part, Setting(ansi, time_zone)) for part in _parts(expression))


def reader_disagreements(
    format: str,
    schema: StructType,
    options: Mapping[str, str],
    *,
    ansi: bool,
    time_zone: str,
) -> tuple[str, ...]:
    """Why the engine cannot read these files as Spark does; none where it can.

    Args:
        format: json, parquet, csv, orc or text.
        schema: the columns read.
        options: the reader's options, those of a stream left out.
        ansi: the session's `spark.sql.ansi.enabled`.
        time_zone: the session's `spark.sql.session.timeZone`.
    """
    setting = Setting(ansi, time_zone)
    columns = {kind for field in schema.fields for kind in _read_kinds(format, field.data_type)}
    wanted = [Signature(format, kind) for kind in sorted(columns)]
    wanted += [option_signature(format, key, value) for key, value in sorted(options.items())]
    found = (_reason("readers", (signature,), setting) for signature in wanted)
    return tuple(reason for reason in found if reason is not None)


def _read_kinds(format: str, data_type: DataType) -> set[str]:
    """The kinds that say how a type is read.

    Parquet has the values of a nested type as columns of their own, and what nests them beside
    these: one that was not compared itself is read right where both are.
    """
    known = table()["readers"].get(format, {})
    whole = set(kinds(data_type))
    nested = data_type.parts
    if format != "parquet" or whole <= known.keys() or not nested:
        return whole
    begin = next(iter(whole)).partition("<")[0]
    likewise = {kind for kind in known if kind.startswith(f"{begin}<")}
    return likewise.union(*(_read_kinds(format, inner) for inner in nested))


def step_disagreements(
    step: str, types: Iterable[DataType], *, ansi: bool, time_zone: str
) -> tuple[str, ...]:
    """Why the engine cannot do a relational step over keys of these types as Spark does.

    Args:
        step: `group by`, `distinct`, `sort asc nulls first`, `join left`, `union`, ...; the
            table's section `steps` has all of them.
        types: those of the step's keys; of all columns where it has none (`union`).
        ansi: the session's `spark.sql.ansi.enabled`.
        time_zone: the session's `spark.sql.session.timeZone`.
    """
    return tuple(_step_reasons(step, types, Setting(ansi, time_zone)))


def _step_reasons(step: str, types: Iterable[DataType], setting: Setting) -> Iterator[str]:
    columns = sorted({kind for data_type in types for kind in kinds(data_type)})
    found = (_reason("steps", (Signature(step, kind),), setting) for kind in columns)
    return (reason for reason in found if reason is not None)


def _window_reasons(window: WindowExpression, setting: Setting) -> Iterator[str]:
    for step, types in steps_of(window):
        yield from _step_reasons(step, types, setting)


# -------------------------------------------------------------------------------- the table

Verdicts = dict[str, dict[str, str | dict[str, str]]]


@cache
def table() -> dict[str, Verdicts]:
    """The table's sections: section -> name -> arguments -> verdict, or verdict per setting."""
    content = json.loads(TABLE.read_text(encoding="utf-8"))
    return cast(dict[str, Verdicts], content["sections"])


def verdict_on(signature: Signature, setting: Setting) -> str | None:
    """The table's word on an expression in its plain form; None where it has none."""
    return _verdict("expressions", signature, setting)


def rewritten_as(signature: Signature, setting: Setting) -> str | None:
    """The rewrite that is equal, with `FAILS` behind where it can fail; None where none is."""
    return _verdict("rewritten", signature, setting)


def _verdict(section: str, signature: Signature, setting: Setting) -> str | None:
    found = table()[section].get(signature.name, {}).get(signature.arguments)
    if isinstance(found, dict):
        return next((found[key] for key in setting.keys if key in found), None)
    return found


def _reason(section: str, wanted: Iterable[Signature], setting: Setting) -> str | None:
    for signature in wanted:
        verdict = _verdict(section, signature, setting)
        if verdict is None:
            return f"{signature} was not compared with Spark"
        if verdict not in (EQUAL, RAISES):
            return f"{signature} {verdict}"
    return None


# ------------------------------------------------------------------------------------- the walk


def _parts(expression: Expression) -> Iterable[Expression]:
    yield expression
    for child in children_of(expression):
        yield from _parts(child)


def children_of(expression: Expression) -> tuple[Expression, ...]:
    """The parts of an expression that the engine computes (a lambda's parameters are none)."""
    if isinstance(expression, LambdaFunction):
        return (expression.body,)
    if isinstance(expression, WindowExpression):
        return computed_of(expression)
    if isinstance(expression, ExactForm):
        return tuple(c for c in children_of(expression.original) if c in expression.given)
    return expression.children


def plain_reason(part: Expression, setting: Setting) -> str | None:
    """Why the engine cannot be given a part as Spark is, its children aside; None if it can."""
    return _reason("expressions", signatures(part), setting)


def _exact_reason(part: Expression, setting: Setting) -> str | None:
    if isinstance(part, ExactForm):
        if part.rewrite == COMPARABLE:
            return None  # compared with the order that it is a key of
        name = rewrite_for(part.original, setting)
        if name == part.rewrite:
            return None
        if guards_a_failure(part.original, setting):
            guard = _guard(part.original, f" {part.rewrite}")
            return _reason("guards", (guard,), setting) or plain_reason(part.original, setting)
        return f"the form '{part.rewrite}' was not compared with Spark"
    if isinstance(part, Call) and part.spec.random_seed:
        return None  # any values are right, as those of two runs of Spark differ
    if isinstance(part, WindowExpression):
        reason = never_compared(part)
        return reason or next(_window_reasons(part, setting), None)
    if guards_a_failure(part, setting):
        return "the engine may compute a branch, and fail in it, where Spark does not"
    return plain_reason(part, setting)


def rewrite_for(part: Expression, setting: Setting) -> str | None:
    """The name of the rewrite that is equal for all of a part's signatures, if there is one."""
    names = {rewritten_as(signature, setting) for signature in signatures(part)}
    found = names.pop() if len(names) == 1 else None
    return None if found is None else found.removesuffix(FAILS)


def _fails(part: Expression, setting: Setting) -> bool:
    original = part.original if isinstance(part, ExactForm) else part
    return any(
        verdict_on(signature, setting) == RAISES
        or (rewritten_as(signature, setting) or "").endswith(FAILS)
        for signature in signatures(original)
    )


def guards_a_failure(part: Expression, setting: Setting) -> bool:
    """Whether a part that fails stands where Spark computes it for some rows only.

    The section `guards` says for which functions the engine computes no more than Spark does.
    """
    guarded = guarded_arguments(part)
    if not guarded or _verdict("guards", _guard(part), setting) == EQUAL:
        return False
    return any(_fails(inner, setting) for argument in guarded for inner in _parts(argument))


def _guard(part: Expression, suffix: str = "") -> Signature:
    """The signature in the section `guards`: the engine computes booleans in other ways."""
    name = part.name if isinstance(part, Call) else "case"
    boolean = isinstance(part.data_type, BooleanType)
    return Signature(name + suffix, "boolean" if boolean else "")
