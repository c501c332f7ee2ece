"""Every explain mode: those of the physical plan, and those of the runtime plan above it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..physical.explain import MODES as PHYSICAL_MODES
from ..physical.explain import explain as explain_physical
from ..physical.explain.modes import Explainable
from .model.errors import DescriptionError
from .model.text.literal_text import time_zone_scope

if TYPE_CHECKING:
    from ..runtime.plan import RuntimePlan
    from .advice import Advice

RUNTIME_MODES = ("runtime", "runtime-json")
MODES = (*PHYSICAL_MODES, *RUNTIME_MODES)


def check_mode(mode: str) -> None:
    """Raise DescriptionError for an explain mode that there is not."""
    if mode not in MODES:
        raise DescriptionError.of(
            "STATEPLAN_UNKNOWN_EXPLAIN_MODE", hint=f"Use one of {', '.join(MODES)}.", mode=mode
        )


def with_advice(text: str, mode: str, advice: Iterable[Advice]) -> str:
    """A plan's text with advice below it; in JSON under the key `advice`."""
    from .advice import advice_text

    if not mode.endswith("json"):
        return f"{text}\n\n{advice_text(tuple(advice))}"
    document = {**json.loads(text), "advice": [each.model_dump() for each in advice]}
    return json.dumps(document, indent=2, ensure_ascii=False)


def explain(execution: Explainable, mode: str = "simple") -> str:
    """The text of a query's plan, ending without a line break.

    Args:
        execution: the query's phases.
        mode: a mode of the physical plan (physical/explain/modes.py); `runtime`: what we do in the
            query's first micro-batch on Spark; `runtime-json`: the same as JSON.

    Raises:
        DescriptionError: there is no such mode.
        StateplanError: what planning the query raises; a function of it cannot be run.
    """
    check_mode(mode)
    if mode not in RUNTIME_MODES:
        return explain_physical(execution, mode)
    from ..runtime.plan import runtime_json, runtime_text

    plan = _runtime_plan(execution)
    widest = execution.conf.integer("spark.sql.debug.maxToStringFields")
    with time_zone_scope(execution.conf.time_zone):
        return runtime_text(plan, widest) if mode == "runtime" else runtime_json(plan)


def _runtime_plan(execution: Explainable) -> RuntimePlan:
    from ..runtime.plan import BatchFacts, runtime_plan

    stores = execution.conf.shuffle_partitions
    facts = BatchFacts(conf=execution.conf, tasks=stores)
    return runtime_plan(execution.executed_plan, facts)
