"""What in a query's plan will cost more, or give less, than its author may expect.

A query without such a fault (advice_rules.py) gets no advice.
"""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict

from ..physical.plan import StateStoreWriter
from .advice_rules import RULES, Facts
from .described_sources import files_size
from .incremental_execution import IncrementalExecution
from .model.catalog import Source


class Advice(BaseModel):
    """One fault of one stateful operator.

    Attributes:
        rule: the rule's name.
        operator: the operator's id.
        name: the operator's name.
        line: where it comes from in the user's text.
        fault: what is so, and why.
        cost: what that costs.
        change: the change that helps.
    """

    model_config = ConfigDict(frozen=True)
    rule: str
    operator: int
    name: str
    line: str | None
    fault: str
    cost: str
    change: str


def advice_on(facts: Facts) -> tuple[Advice, ...]:
    """All advice on a plan: by operator, those nearest the sink first, then by rule."""
    found: list[Advice] = []
    for writer in facts.plan.collect(StateStoreWriter):
        assert writer.state_info is not None
        line = None if writer.origin is None else writer.origin.line_text
        number, name = writer.state_info.operator_id, writer.node_name
        for rule in RULES:
            for fault, cost, change in rule(writer, facts):
                advice = Advice(
                    rule=rule.__name__,
                    operator=number,
                    name=name,
                    line=line,
                    fault=fault,
                    cost=cost,
                    change=change,
                )
                found.append(advice)
    return tuple(found)


def advice_on_execution(execution: IncrementalExecution) -> tuple[Advice, ...]:
    """All advice on a planned query; its streams' files are looked for where its code says."""
    sources = execution.catalog.items()
    paths = {n: s.location for n, s in sources if isinstance(s, Source) and s.streaming}
    return advice_on(Facts(execution.executed_plan, execution.conf, stream_sizes(paths)))


def stream_sizes(paths: Mapping[str, str | None]) -> dict[str, int]:
    """How many bytes the streams' files have, by name; without those that have none here."""
    return {name: size for name, path in paths.items() if (size := files_size(path))}


def advice_text(advice: tuple[Advice, ...]) -> str:
    """Advice for people, without a line break at its end."""
    if not advice:
        return "== Advice ==\nNone."
    blocks = []
    for each in advice:
        place = f", {each.line}" if each.line else ""
        head = f"({each.operator}) {each.name}{place}: {each.fault}"
        blocks.append(f"{head}\n    cost:   {each.cost}\n    change: {each.change}")
    return "== Advice ==\n" + "\n\n".join(blocks)
