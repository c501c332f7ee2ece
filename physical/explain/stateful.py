"""Our own short view: what each stateful operator keeps, and for how long."""

from __future__ import annotations

from ...planner.model.expressions.core import Origin
from ..basic import EventTimeWatermarkExec
from ..plan import SparkPlan, StateStoreWriter
from .state_facts import Fact, eviction, kept, keyed_on, late_rows, stores, what_it_does

_WIDTH = 13
_EXCERPT = 80


def stateful_text(plan: SparkPlan, *, places: bool = True) -> str:
    """One block per stateful operator of an executed plan, the one nearest the sink first.

    A block says what state is keyed on, what a row of it holds, which rows are late, what evicts
    state and when or why nothing ever does, how many stores there are and which part of the query
    it comes from (not without `places`).
    """
    writers = plan.collect(StateStoreWriter)
    if not writers:
        return "== Stateful Operators ==\nNone: the query keeps no state."
    return "== Stateful Operators ==\n" + "\n\n".join(_block(writer, places) for writer in writers)


def _block(writer: StateStoreWriter, places: bool) -> str:
    number = "?" if writer.state_info is None else writer.state_info.operator_id
    mode = "" if writer.output_mode is None else f", {writer.output_mode} mode"
    lines = [f"({number}) {writer.node_name} ({writer.operator_name}){mode}"]
    facts = facts_of(writer)
    if places and writer.origin is not None:
        facts.append(("from", place_text(writer.origin)))
    lines.extend(f"    {label + ':':<{_WIDTH}}{text}" for label, text in facts)
    return "\n".join(lines)


def facts_of(writer: StateStoreWriter) -> list[Fact]:
    """What there is to say of a stateful operator: labels and texts."""
    return [
        ("does", what_it_does(writer)),
        ("keyed on", keyed_on(writer)),
        *kept(writer),
        ("watermark", _watermarks(writer)),
        ("late rows", str(late_rows(writer))),
        ("evicted", str(eviction(writer))),
        ("stores", stores(writer)),
    ]


def place_text(origin: Origin) -> str:
    """The line that an operator comes from, and what stands there."""
    place = f"line {origin.line}, position {origin.position}"
    if origin.file:
        place = f"{origin.file}:{origin.line}"
    excerpt = " ".join(origin.source[origin.start : origin.stop + 1].split())  # stop is the last
    if len(excerpt) > _EXCERPT:
        excerpt = excerpt[: _EXCERPT - 3] + "..."
    return f"{place}: {excerpt}" if excerpt else place


def _watermarks(writer: StateStoreWriter) -> str:
    nodes = writer.collect(EventTimeWatermarkExec)
    if not nodes:
        return "none"
    texts = (f"the latest {n.event_time.name} less {n.delay_text}" for n in nodes)
    return "; ".join(dict.fromkeys(texts))
