"""One of two queries: its plan, what its rows mean, its sources, its settings.

Our runtime keeps a query in a checkpoint as `{"version": 1, "plan": PLAN, "output_mode": ...,
"conf": {...}, "sources": [...]}` with PLAN as the explain mode `json` writes it.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, field
from functools import cached_property
from typing import Any

from ...physical.basic import StreamingRelationExec
from ...physical.explain.plan_json import from_json, to_json
from ...physical.plan import SparkPlan, StateStoreWriter
from ...physical.scans import FileSourceScanExec
from ..description import SourceDescription
from ..incremental_execution import IncrementalExecution
from ..model.catalog import Source, TempView
from ..model.errors import DescriptionError
from ..model.frozen import dataclass
from ..model.memo import Memo, memo_scope
from ..model.plans.relations import StreamingRelation
from ..model.settings.conf import Conf
from ..model.text.literal_text import time_zone_scope
from ..model.tree import replace
from . import combining as combining  # its handlers of operators
from .operators import OperatorMeaning, stateful_operators
from .relations import Relation, relation_of
from .spelling import Symbol


@dataclass(frozen=True)
class SourcePlace:
    """A stream of a query, one for each place where it is read.

    Attributes:
        view: its name in the query.
        path: where its files are, as the query has it; "" if it does not say.
        name: the name given with DataStreamReader.name.
        format: json, parquet, rate, ...
        options: those of its reader, where the query says them by itself; they are not stored.
    """

    view: str
    path: str = ""
    name: str | None = None
    format: str = "json"
    options: Mapping[str, str] | None = None

    @property
    def identity(self) -> str:
        """What identifies it: views may be renamed, files stay where they are."""
        return self.path or self.view


@dataclass(frozen=True)
class Side:
    """A query as far as its state and its output go.

    Attributes:
        plan: the executed plan, sources under their identities.
        mode: the output mode; None if a plan of JSON does not say.
        conf: the settings that it is planned with.
        asked: those that it asks for itself.
        sources: its streams in the order of the plan.
        named: whether its stateful operators have names.
    """

    plan: SparkPlan
    mode: str | None
    conf: Conf
    asked: Conf
    sources: tuple[SourcePlace, ...] = field(default=())
    named: bool = False
    _memo: Memo = field(default_factory=lambda: defaultdict(dict), compare=False, repr=False)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """What is asked of its operators depends on its time zone, and is remembered."""
        with time_zone_scope(self.conf.time_zone), memo_scope(self._memo):
            yield

    @cached_property
    def relation(self) -> Relation:
        """What it emits: the rows."""
        with self.reading():
            return relation_of(self.plan)

    @cached_property
    def outputs(self) -> tuple[Symbol, ...]:
        """What it emits: the columns in order."""
        return self.relation.outputs(self.plan)

    @cached_property
    def operators(self) -> tuple[OperatorMeaning, ...]:
        """Its stateful operators."""
        with self.reading():
            return stateful_operators(self.plan)


def side_of(
    execution: IncrementalExecution,
    pinned: Mapping[str, str],
    described: Mapping[str, SourceDescription] | None = None,
    stored_ids: Mapping[str, int] | None = None,
) -> Side:
    """A query planned with the settings that a checkpoint pins.

    Args:
        execution: the query.
        pinned: the settings.
        described: its sources, for the rows of those that are written out.
        stored_ids: the ids of stateful operators in the checkpoint, by name.

    Raises:
        StateplanError: the query is refused.
    """
    asked = execution.conf
    changed = any(asked.get(key) != value for key, value in pinned.items())
    if changed or (execution.state_names and stored_ids):
        execution = IncrementalExecution(
            execution.logical,
            catalog=execution.catalog,
            output_mode=execution.output_mode,
            conf=asked.updated(pinned),
            ids=execution._ids,
            state_names=execution.state_names,
            stored_ids=stored_ids or {},
        )
    plan = execution.executed_plan
    streams = execution.checked.collect(StreamingRelation)
    identities = {name: _identity(name, source) for name, source in execution.catalog.items()}
    for name, source in (described or {}).items():
        identities[name] = source.path or name if source.rows is None else _of_rows(name, source)
    places = tuple(_place(execution, relation, described or {}) for relation in streams)
    formats = {place.view: place.format for place in places}
    return Side(
        plan=identified(plan, identities, formats),
        mode=execution.output_mode,
        conf=execution.conf,
        asked=asked,
        sources=places,
        named=bool(execution.state_names),
    )


def side_of_plan(plan: SparkPlan, conf: Conf | None = None) -> Side:
    """A plan without its query: of JSON, or stored in a checkpoint."""
    writers = plan.collect(StateStoreWriter)
    modes = [w.output_mode for w in writers if w.output_mode is not None]
    found = plan.collect(StreamingRelationExec)
    settings = conf or Conf()
    return Side(
        plan=plan,
        mode=modes[0] if modes else None,
        conf=settings,
        asked=settings,
        sources=tuple(SourcePlace(view=relation.name) for relation in found),
    )


def identified(
    plan: SparkPlan, identities: Mapping[str, str], formats: Mapping[str, str]
) -> SparkPlan:
    """The plan with its sources under names that stay when views are renamed, and their formats."""

    def renamed(node: SparkPlan) -> SparkPlan:
        if isinstance(node, StreamingRelationExec):
            own = formats.get(node.name, node.format)
            return replace(node, name=identities.get(node.name, node.name), format=own)
        if isinstance(node, FileSourceScanExec):
            return replace(node, name=identities.get(node.name, node.name))
        return node

    return plan.transform_up(renamed)


def _place(
    execution: IncrementalExecution,
    relation: StreamingRelation,
    described: Mapping[str, SourceDescription],
) -> SourcePlace:
    known = described.get(relation.name)
    if known is not None:
        path = known.path or ""
        return SourcePlace(relation.name, path, known.name, known.format, known.options)
    source = execution.catalog.get(relation.name)
    if not isinstance(source, Source):
        return SourcePlace(view=relation.name)
    return SourcePlace(relation.name, source.location, source.given_name, source.format)


def _identity(view: str, source: Source | TempView) -> str:
    return (source.location if isinstance(source, Source) else "") or view


def _of_rows(view: str, source: SourceDescription) -> str:
    text = json.dumps(source.rows, sort_keys=True, default=str)
    return f"{view}:{hashlib.sha256(text.encode()).hexdigest()[:12]}"


VERSION = 1


def document_of(side: Side) -> dict[str, Any] | None:
    """The query as JSON's objects; None if a part of its plan has no such form."""
    try:
        plan = to_json(side.plan)
    except TypeError:
        return None
    return {
        "version": VERSION,
        "output_mode": side.mode,
        "conf": dict(side.asked.settings),
        "sources": [
            {name: value for name, value in asdict(source).items() if name != "options"}
            for source in side.sources
        ],
        "plan": plan,
    }


def side_from(document: Mapping[str, Any], pinned: Mapping[str, str]) -> Side | None:
    """The query of a document; None if it is of another version of ours."""
    if document.get("version") != VERSION:
        return None
    try:
        plan = from_json(document["plan"])
        asked = Conf({str(k): str(v) for k, v in document["conf"].items()})
        sources = tuple(SourcePlace(**source) for source in document["sources"])
        mode = document["output_mode"]
    except (DescriptionError, KeyError, TypeError, AttributeError):
        return None
    return Side(plan=plan, mode=mode, conf=asked.updated(pinned), asked=asked, sources=sources)
