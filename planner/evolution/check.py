"""Whether a changed query may go on from a checkpoint: all rules in Spark's order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, TypeAlias

from ...physical.plan import SparkPlan
from ..advice import advice_on, advice_on_execution
from ..advice_rules import Facts
from ..collecting import without_collections
from ..incremental_execution import IncrementalExecution
from ..model.errors import AnalysisError, PlanningError, StateplanError, StreamingCheckError
from ..model.expressions.core import Call, Cast, Expression, Literal
from ..model.formats import FILE_FORMATS, PACE
from ..model.options import by_lower_name
from ..model.schemas.types import BooleanType, DateType, NumericType, StringType, TimestampType
from ..model.settings.conf import NO_DATA_BATCHES, Conf
from ..model.settings.pinned import BEFORE_PINNED, PINNED, SHUFFLE_PARTITIONS
from ..model.text.literal_text import time_zone_scope
from . import refusals
from .change import KEEP, NEW_CHECKPOINT, REBUILD, Change
from .hints import CANNOT_TELL, hints
from .names import as_on_spark
from .report import (
    Basis,
    CheckReport,
    Finding,
    IgnoredSetting,
    OperatorReport,
    Phase,
    worst,
)
from .rules import compared
from .side import Side, SourcePlace, side_from, side_of, side_of_plan
from .stored import StoredCheckpoint
from .words import columns_text, rows_text

if TYPE_CHECKING:
    from ..query import Query

_ANSI = "spark.sql.ansi.enabled"


def ansi_turned_on(was: Side, now: Side) -> Iterator[Finding]:
    """What was null without ANSI mode is an error with it. The other way nothing is at stake."""
    if was.asked.flag(_ANSI) or not now.asked.flag(_ANSI):
        return
    nodes = list(now.plan.walk())
    for node in reversed(nodes):
        for expression in node.expressions:
            for part in expression.walk():
                condition = _raises(part)
                if condition is not None:
                    yield Finding(
                        verdict="refused",
                        what=_ANSI,
                        was="false",
                        now="true",
                        why="a value that cannot be computed was null, and now fails the batch",
                        action=f"set {_ANSI} to false, or use the try_ functions",
                        condition=condition,
                        phase="batch",
                    )
                    return


def _raises(part: Expression) -> str | None:
    """The condition of the error that an expression raises over ordinary bad data."""
    match part:
        case Cast(mode="ANSI", child=child, type_=target) if (
            isinstance(child.data_type, StringType)
            and isinstance(target, NumericType | BooleanType | DateType | TimestampType)
            and not child.foldable
        ):
            return "CAST_INVALID_INPUT"
        case Call(arguments=(_, divisor), ansi=True, spec=spec) if spec.divides:
            return None if isinstance(divisor, Literal) else "DIVIDE_BY_ZERO"
        case Call(name="element_at" | "getarrayitem", ansi=True):
            return "INVALID_ARRAY_INDEX_IN_ELEMENT_AT"
        case _:
            return None


Asked: TypeAlias = "Query | IncrementalExecution | SparkPlan"
"""A query, one that is planned already, or a plan alone."""
_PHASES: dict[type[StateplanError], Phase] = {
    AnalysisError: "analysis",
    StreamingCheckError: "start",
    PlanningError: "plan",
}


def check_against(query: Asked, stored: StoredCheckpoint, was: Asked | None = None) -> CheckReport:
    """Compare a query with what a checkpoint says, and with the query that it was.

    Args:
        query: the query as it is now.
        stored: what the checkpoint says.
        was: the query that wrote it, if that is known.

    Raises:
        StateplanError: the old query cannot be planned; the new one is no query at all.
    """
    pinned = pinned_settings(stored)
    basis: Basis = "query"
    old = None if was is None else planned(was, pinned, stored.names)
    if old is None and stored.document is not None:
        old, basis = side_from(stored.document, pinned), "stored plan"
    try:
        now = planned(query, pinned, stored.names)
    except (AnalysisError, StreamingCheckError, PlanningError) as error:
        return _invalid(error, "checkpoint" if old is None else basis)
    return compare(stored, now, old, basis=basis)


def compare(stored: StoredCheckpoint, now: Side, was: Side | None, *, basis: Basis) -> CheckReport:
    """`check_against` for queries that are planned already with the checkpoint's settings."""
    findings = list(_findings(stored, now, was))
    report = _report(
        findings,
        now,
        basis="checkpoint" if was is None else basis,
        ignored=_ignored(stored, now, was),
        cannot_tell=CANNOT_TELL if was is None and stored.last_batch is not None else (),
    )
    if stored.names is None:
        return report
    spark = compare(*as_on_spark(stored, now, was), basis=basis)
    return report.model_copy(update={"on_spark": (spark.verdict, spark.condition)})


def advised(report: CheckReport, query: Asked) -> CheckReport:
    """A report with advice on the new query; without, where it cannot be planned."""
    try:
        if isinstance(query, SparkPlan):
            advice = advice_on(Facts(query, Conf()))
        elif isinstance(query, IncrementalExecution):
            advice = advice_on_execution(query)
        else:
            advice = query.advice()
    except (AnalysisError, StreamingCheckError, PlanningError):
        return report
    return report.model_copy(update={"advice": advice})


def pinned_settings(stored: StoredCheckpoint) -> dict[str, str]:
    """The settings that a restart takes from the checkpoint."""
    if stored.last_batch is None:
        return {}
    return BEFORE_PINNED | {k: v for k, v in stored.conf.items() if k in PINNED}


def planned(
    asked: Asked, pinned: dict[str, str], stored_ids: Mapping[str, int] | None = None
) -> Side:
    """A query under settings that a checkpoint pins; raises what planning it raises.

    `stored_ids` are the ids of stateful operators in the checkpoint, by name.
    """
    if isinstance(asked, SparkPlan):
        return side_of_plan(asked, Conf(pinned))
    if isinstance(asked, IncrementalExecution):
        return side_of(asked, pinned, stored_ids=stored_ids)
    with without_collections():
        return side_of(asked.execution, pinned, asked.sources, stored_ids)


def _findings(stored: StoredCheckpoint, now: Side, was: Side | None) -> Iterator[Finding]:
    """Refusals first, each kind only where Spark gets that far; then the meaning."""
    for check in refusals.ORDER:
        found = list(check(stored, now, was))
        yield from found
        if any(f.verdict == "refused" for f in found):
            return
    if stored.committed is None:
        return  # there is no state yet
    others = [] if was is None else list(_not_its_query(stored, was))
    yield from others
    with time_zone_scope(now.conf.time_zone):
        if was is None or others:
            yield from hints(stored, now)
        else:
            yield from meanings(was, now)


def _not_its_query(stored: StoredCheckpoint, was: Side) -> Iterator[Finding]:
    """The old query as it is given, where its own state is not what the checkpoint has."""
    if stored.names is not None:
        return  # known by name, operators may have come since
    for check in (refusals.operators, refusals.schemas, refusals.properties):
        for found in check(stored, was, None):
            yield Finding(
                verdict="differs",
                what="old query",
                operator=found.operator,
                was=found.was,
                now=found.now,
                why="the old query that is given did not write this checkpoint, so what differs "
                "between the two queries says nothing about its state",
                action="give the query that wrote the checkpoint",
            )


def meanings(was: Side, now: Side) -> Iterator[Finding]:
    """What a change does to the meaning of state and output; state that nobody refuses."""
    yield from ansi_turned_on(was, now)
    yield from _reading(was, now)
    before = {o.id: o for o in was.operators}
    changed = False
    for operator in now.operators:
        old = before.get(operator.id)
        if old is None or old.name != operator.name:
            continue
        found = compared(Change(old, operator, was.mode, now.mode))
        changed = changed or bool(found)
        yield from found
    yield from _timing(was, now)
    if not changed:
        yield from _output(was, now)


def _reading(was: Side, now: Side) -> Iterator[Finding]:
    """Files that are read in another way give other rows; at what pace makes no difference."""
    before = {source.identity: source for source in was.sources}
    for source in now.sources:
        old = before.get(source.identity)
        if old is None or source.format not in FILE_FORMATS:
            continue
        texts = [_reader_text(one) for one in (old, source)]
        known = old.options is not None and source.options is not None
        if old.format == source.format and (not known or texts[0] == texts[1]):
            continue
        yield Finding(
            verdict="differs" if now.operators else "stale",
            what="reader",
            was=f"{source.view}: {texts[0]}",
            now=f"{source.view}: {texts[1]}",
            why="what the old query took from its files would be other rows now",
            action=KEEP,
        )


def _reader_text(source: SourcePlace) -> str:
    """A source's format, and the options that say what its rows are."""
    options = by_lower_name(source.options or {})
    kept = sorted(f"{name}={value}" for name, value in options.items() if name not in PACE)
    return ", ".join([source.format, *kept])


def _output(was: Side, now: Side) -> Iterator[Finding]:
    """A sink in complete mode is written anew in each batch; others keep what they have."""
    if now.mode == "complete" or (
        was.relation.rows == now.relation.rows and was.outputs == now.outputs
    ):
        return
    rows = was.relation.rows != now.relation.rows
    texts = [
        rows_text(s.relation.rows) if rows else columns_text(s.plan.output) for s in (was, now)
    ]
    yield Finding(
        verdict="stale",
        what="output rows" if rows else "output columns",
        was=texts[0],
        now=texts[1],
        why="rows that are in the sink already stay as the old query wrote them",
        action=REBUILD,
    )


def _timing(was: Side, now: Side) -> Iterator[Finding]:
    """Without batches for it, state that is due comes out with the next data.

    Until then it takes in rows that are late otherwise, and holds keys that are new ones otherwise.
    """
    if was.asked.flag(NO_DATA_BATCHES) == now.asked.flag(NO_DATA_BATCHES):
        return
    for operator in now.operators:
        if operator.evicts:
            yield Finding(
                verdict="differs",
                what="no-data batches",
                operator=operator.id,
                was=was.asked[NO_DATA_BATCHES],
                now=now.asked[NO_DATA_BATCHES],
                why="what the watermark lets out comes at another time, and other rows are late",
                action=f"set {NO_DATA_BATCHES} to {was.asked[NO_DATA_BATCHES]}",
            )


def _ignored(stored: StoredCheckpoint, now: Side, was: Side | None) -> tuple[IgnoredSetting, ...]:
    """Settings that one of the queries sets, and that the checkpoint has otherwise."""
    found = []
    set_by_was = was.asked.settings if was is not None else {}
    for key, pinned in stored.conf.items():
        if key not in PINNED or not (key in now.asked.settings or key in set_by_was):
            continue
        asked = now.asked.settings.get(key, PINNED[key])
        if asked != pinned:
            action = NEW_CHECKPOINT
            if key == SHUFFLE_PARTITIONS and stored.by_stateplan:
                action = f"stateplan state rescale {stored.place} --stores {asked}"
            found.append(IgnoredSetting(setting=key, pinned=pinned, asked=asked, action=action))
    return tuple(found)


def _report(
    findings: Iterable[Finding],
    now: Side,
    *,
    basis: Basis,
    ignored: tuple[IgnoredSetting, ...],
    cannot_tell: tuple[str, ...],
) -> CheckReport:
    found = tuple(findings)
    first = next((f for f in found if f.verdict == "refused"), None)
    return CheckReport(
        verdict=worst([f.verdict for f in found]),
        condition=None if first is None else first.condition,
        phase=None if first is None else first.phase,
        compared_with=basis,
        operators=tuple(
            OperatorReport(
                id=o.id,
                name=o.name,
                line=None if o.origin is None else o.origin.line_text,
                verdict=worst([f.verdict for f in found if f.operator == o.id]),
            )
            for o in now.operators
        ),
        findings=found,
        ignored=ignored,
        cannot_tell=cannot_tell,
    )


def _invalid(error: StateplanError, basis: Basis) -> CheckReport:
    """The new query is no valid query, whatever the checkpoint."""
    phase = next(p for kind, p in _PHASES.items() if isinstance(error, kind))
    finding = Finding(
        verdict="refused",
        what="query",
        why=error.message.strip(),
        action=error.hint or NEW_CHECKPOINT,
        condition=error.condition,
        phase=phase,
    )
    return CheckReport(
        verdict="refused",
        condition=error.condition,
        phase=phase,
        compared_with=basis,
        findings=(finding,),
    )
