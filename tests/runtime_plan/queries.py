"""From SQL to executed plans and runtime plans, as a query's first batches have them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from stateplan.physical.explain.normalise import normalise
from stateplan.physical.plan import SparkPlan
from stateplan.planner.description import parse_description
from stateplan.planner.incremental_execution import IncrementalExecution
from stateplan.planner.model.catalog import Source
from stateplan.planner.model.ids import id_scope
from stateplan.planner.model.output_modes import OutputMode
from stateplan.planner.model.schemas.ddl import parse_schema
from stateplan.planner.model.settings.conf import Conf
from stateplan.planner.query import Query
from stateplan.planner.sql import parse
from stateplan.runtime.engines.embedded_exactness import EMBEDDED
from stateplan.runtime.plan import SPARK, BatchFacts, EngineFacts, RuntimePlan, runtime_plan
from stateplan.runtime.plan.facts import Figures
from stateplan.runtime.plan.nodes import RuntimeNode
from stateplan.runtime.plan.printing import plan_text
from stateplan.runtime.plan.translate import translate

SCHEMAS = {
    "events": "user STRING, ts TIMESTAMP, qty INT, price DOUBLE",
    "clicks": "user STRING, at TIMESTAMP",
}
USERS = "user STRING, country STRING"
ALL_EXACT = replace(EMBEDDED, exactness=None)
"""The embedded engine where it computes everything as Spark does."""
STORES = Conf({"spark.sql.shuffle.partitions": "4"})
WATERMARK = "STREAM events WATERMARK ts DELAY OF INTERVAL 10 SECONDS"


def executed(
    sql: str, mode: str = "append", conf: Conf = STORES, *, late: int = 5, evict: int = 6
) -> SparkPlan:
    """The executed plan of a batch; watermarks in seconds."""
    catalog = {
        name: Source(name=name, schema=parse_schema(schema), format="memory")
        for name, schema in SCHEMAS.items()
    }
    users = Source(name="users", schema=parse_schema(USERS), streaming=False, format="parquet")
    ids = itertools.count()
    with id_scope(ids):
        logical = parse(sql, conf)
    execution = IncrementalExecution(
        logical,
        catalog={**catalog, "users": users},
        output_mode=cast(OutputMode, mode),
        conf=conf,
        watermark_late=0,
        watermark_eviction=0,
        ids=ids,
    )
    return execution.for_batch(3, late * 1000, evict * 1000)


def planned(
    sql: str, mode: str = "append", engine: EngineFacts = SPARK, **facts: Any
) -> RuntimePlan:
    """The runtime plan of a batch."""
    return runtime_plan(executed(sql, mode), BatchFacts(conf=STORES, engine=engine, **facts))


def first_plan(sql: str, mode: str = "append", **facts: Any) -> RuntimeNode:
    """The runtime plan before any pass."""
    return translate(executed(sql, mode), BatchFacts(conf=STORES, **facts))


def text(plan: RuntimePlan | RuntimeNode) -> str:
    """A runtime plan as a tree, ids counted from 0 by appearance."""
    if isinstance(plan, RuntimeNode):
        return normalise(plan_text(plan))
    views = [f"{view}\n{plan_text(root)}" for view, root in plan.subqueries.items()]
    return normalise("\n".join([*views, plan_text(plan.root)]))


CASES = sorted((Path(__file__).resolve().parent / "plans").glob("*.yaml"))
"""Queries by topic: `id`, `sql` (LATE is a stream with a watermark) or `python`, `mode`, facts
of the batch, and the runtime plans on both engines."""
ENGINES = (SPARK, ALL_EXACT)


def plans_of(case: Mapping[str, Any]) -> dict[str, str]:
    """The runtime plans of a case by engine; `as above` where they are the same."""
    facts = {
        key: case[key] for key in ("figures", "source_rows", "passed", "batch_id") if key in case
    }
    if "figures" in facts:
        facts["figures"] = {id_: Figures.of(known) for id_, known in facts["figures"].items()}
    plan = of_code(case) if "python" in case else _of_sql(case)
    runtime = (runtime_plan(plan, BatchFacts(conf=STORES, engine=e, **facts)) for e in ENGINES)
    first, *others = map(text, runtime)
    texts = [first, *("as above" if one == first else one for one in others)]
    return {engine.name: f"{one}\n" for engine, one in zip(ENGINES, texts, strict=True)}


def _of_sql(case: Mapping[str, Any]) -> SparkPlan:
    return executed(case["sql"].replace("FROM LATE", f"FROM {WATERMARK}"), case["mode"])


def of_code(case: Mapping[str, Any]) -> SparkPlan:
    """The executed plan of PySpark code."""
    content = {
        "python": case["python"],
        "sources": {
            **{name: {"schema": schema} for name, schema in SCHEMAS.items()},
            "users": {"schema": USERS, "static": True},
        },
        "output_mode": case["mode"],
        "conf": dict(STORES.settings),
    }
    return Query.of(parse_description(content)).execution.executed_plan
