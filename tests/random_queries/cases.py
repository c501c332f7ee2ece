"""Random cases: a family, a spelling, settings, and the description that they make."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .catalog import STREAMS, TABLES
from .choices import Choices
from .wide import WideQueries

FAMILIES = (
    (14, "agg"),
    (8, "win"),
    (8, "proj"),
    (8, "ssjoin"),
    (7, "dedup"),
    (6, "sess"),
    (6, "static"),
    (5, "chain"),
    (5, "err"),
    (4, "limit"),
    (4, "sub"),
    (3, "union"),
    (3, "wm"),
    (2, "sort"),
    (2, "gsets"),
    (3, "conf"),
    (1, "winfn"),
    (16, "pipe"),
    (8, "func"),
)
"""How often each family comes: about as often as among the corpus' topics."""

SETTINGS = (
    ("spark.sql.ansi.enabled", ("false",)),
    ("spark.sql.shuffle.partitions", ("1", "3", "200")),
    ("spark.sql.streaming.aggregation.stateFormatVersion", ("1",)),
    ("spark.sql.codegen.wholeStage", ("false",)),
    ("spark.sql.caseSensitive", ("true",)),
    ("spark.sql.adaptive.enabled", ("false",)),
    ("spark.sql.streaming.join.stateFormatVersion", ("1", "3")),
    ("spark.sql.streaming.statefulOperator.useStrictDistribution", ("false",)),
    ("spark.sql.autoBroadcastJoinThreshold", ("-1",)),
    ("spark.sql.session.timeZone", ("America/Los_Angeles", "Europe/Paris")),
    ("spark.sql.streaming.multipleWatermarkPolicy", ("max",)),
    ("spark.sql.streaming.sessionWindow.merge.sessions.in.local.partition", ("true",)),
    ("spark.sql.streaming.sessionWindow.stateFormatVersion", ("1",)),
    ("spark.sql.codegen.maxFields", ("3",)),
    ("spark.sql.groupByOrdinal", ("false",)),
    ("spark.sql.groupByAliases", ("false",)),
    ("spark.sql.orderByOrdinal", ("false",)),
    ("spark.sql.execution.useObjectHashAggregateExec", ("false",)),
    ("spark.sql.streaming.statefulOperator.allowMultiple", ("false",)),
    ("spark.sql.streaming.unsupportedOperationCheck", ("false",)),
    ("spark.sql.join.preferSortMergeJoin", ("false",)),
    ("spark.sql.crossJoin.enabled", ("false",)),
    ("spark.sql.debug.maxToStringFields", ("3",)),
    ("spark.sql.maxMetadataStringLength", ("20",)),
    ("spark.sql.optimizer.maxIterations", ("100",)),
    ("spark.sql.legacy.timeParserPolicy", ("LEGACY",)),
    ("spark.sql.storeAssignmentPolicy", ("STRICT",)),
    ("spark.sql.parser.quotedRegexColumnNames", ("true",)),
    ("spark.sql.timestampType", ("TIMESTAMP_NTZ",)),
    ("spark.sql.execution.topKSortFallbackThreshold", ("2",)),
    ("spark.sql.constraintPropagation.enabled", ("false",)),
    ("spark.sql.adaptive.coalescePartitions.enabled", ("false",)),
    (
        "spark.sql.optimizer.excludedRules",
        ("org.apache.spark.sql.catalyst.optimizer.CollapseProject",),
    ),
    ("spark.sql.streaming.noDataMicroBatches.enabled", ("false",)),
    ("spark.sql.adaptive.streaming.stateless.enabled", ("false",)),
    ("spark.sql.optimizeNullAwareAntiJoin", ("false",)),
    ("spark.sql.optimizer.disableHints", ("true",)),
    ("spark.sql.optimizer.propagateDistinctKeys.enabled", ("false",)),
    ("spark.sql.optimizer.inSetConversionThreshold", ("2",)),
    ("spark.sql.execution.useHashAggregateExec", ("false",)),
    ("spark.sql.retainGroupColumns", ("false",)),
    ("spark.sql.streaming.statefulOperator.checkCorrectness.enabled", ("false",)),
    ("spark.sql.streaming.stateStore.encodingFormat", ("avro",)),
    ("spark.sql.warehouse.dir", ("/elsewhere",)),
)


@dataclass(frozen=True, kw_only=True)
class Case:
    """A random query.

    Attributes:
        family: what it is made as.
        made: the choices that make it again.
        description: as `stateplan.planner.description` reads it.
    """

    family: str
    made: tuple[int, ...]
    description: dict[str, Any]


def random_case(seed: int) -> Case:
    """The case of a seed."""
    return _case(Choices(seed))


def replayed(made: Sequence[int]) -> Case:
    """The case of a list of choices."""
    return _case(Choices(replay=made))


def _case(choices: Choices) -> Case:
    family = choices.weighted(FAMILIES)
    python = choices.chance(0.4)
    settings = {"spark.sql.shuffle.partitions": "5"}
    if family == "conf" or choices.chance(0.05):
        for key, values in choices.some(SETTINGS, 1, 2):
            settings[key] = choices.one_of(values)
    grammar = WideQueries(choices, python=python)
    method = family
    if family == "conf":
        method = choices.pick("agg", "win", "proj", "ssjoin", "sess", "dedup", "static", "sort")
    text, mode = getattr(grammar, method)()
    streams = {name: {"schema": schema} for name, schema in STREAMS.items() if _names(text, name)}
    tables = {
        name: {"schema": schema, "static": True}
        for name, schema in TABLES.items()
        if _names(text, name)
    }
    description = {
        "sources": {**streams, **tables},
        ("python" if python else "sql"): text,
        "output_mode": mode,
        "conf": settings,
    }
    return Case(family=family, made=tuple(choices.made), description=description)


def _names(text: str, source: str) -> bool:
    return re.search(rf"\b{source}\b", text) is not None
