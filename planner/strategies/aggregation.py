"""Streaming aggregation: from one logical Aggregate to its progression of physical steps."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from ...physical.aggregate import (
    BaseAggregateExec,
    HashAggregateExec,
    MergingSessionsExec,
    ObjectHashAggregateExec,
    SortAggregateExec,
    is_mutable,
    result_column,
)
from ...physical.plan import SparkPlan
from ...physical.stateful import (
    SessionWindowStateStoreRestoreExec,
    SessionWindowStateStoreSaveExec,
    StateStoreRestoreExec,
    StateStoreSaveExec,
)
from ..model.errors import PlanningError
from ..model.expressions.core import (
    AggregateExpression,
    AggregateMode,
    Alias,
    AttributeReference,
    Expression,
    Literal,
    Origin,
    to_attribute,
)
from ..model.expressions.equality import Canonical, canonical
from ..model.frozen import dataclass
from ..model.plans.logical import Aggregate
from ..model.registry import Buffer
from ..model.schemas.types import BINARY
from ..model.text.text import plan_text
from ..model.tree import replace
from .base import PlanLater, where_from
from .floats import normalize_floats

_OBJECTS = "spark.sql.execution.useObjectHashAggregateExec"
_HASHES = "spark.sql.execution.useHashAggregateExec"


@dataclass(frozen=True)
class PhysicalAggregation:
    """An Aggregate taken apart.

    Attributes:
        keys: the grouping expressions, each with a name.
        aggregates: the functions, each different one once.
        buffers: per function, its buffer columns.
        results: the select list over the keys' columns and the functions' result columns.
        origin: where the aggregation stands in the query's text.
        objects: whether a hash table of objects may be used.
        hashes: whether a hash table of rows may be used.
        keys_pulled_out: a rule put the computation of keys below the aggregation.
    """

    keys: tuple[Expression, ...]
    aggregates: tuple[AggregateExpression, ...]
    buffers: tuple[tuple[AttributeReference, ...], ...]
    results: tuple[Expression, ...]
    origin: Origin | None = None
    objects: bool = True
    hashes: bool = True
    keys_pulled_out: bool = False

    @cached_property
    def key_attributes(self) -> tuple[AttributeReference, ...]:
        return tuple(to_attribute(key) for key in self.keys)

    @cached_property
    def session(self) -> AttributeReference | None:
        """The session window among the keys."""
        found = [key for key in self.key_attributes if key.metadata.window == "session"]
        return found[0] if found else None

    @cached_property
    def buffered(self) -> tuple[AttributeReference, ...]:
        """What flows between the steps: the keys, then all buffers."""
        return self.key_attributes + tuple(b for group in self.buffers for b in group)

    @cached_property
    def operator(self) -> type[BaseAggregateExec]:
        """The kind of every step that has all the functions."""
        return operator_for(self.aggregates, self.buffers, objects=self.objects, hashes=self.hashes)


def in_mode(
    aggregates: Sequence[AggregateExpression], mode: AggregateMode
) -> tuple[AggregateExpression, ...]:
    """Functions in a step's mode; only the partial step filters its input."""
    return tuple(
        replace(a, mode=mode, filter=a.filter if mode == "Partial" else None) for a in aggregates
    )


def operator_for(
    aggregates: Sequence[AggregateExpression],
    buffers: Sequence[Sequence[AttributeReference]],
    *,
    objects: bool,
    hashes: bool,
) -> type[BaseAggregateExec]:
    """Hash where every buffer can be updated in place, then objects, then sorted rows."""
    by_objects = any(a.function.spec.object_hash for a in aggregates)
    if (
        hashes
        and not by_objects
        and all(is_mutable(b.data_type) for group in buffers for b in group)
    ):
        return HashAggregateExec
    return ObjectHashAggregateExec if objects and by_objects else SortAggregateExec


def _buffers(aggregate: AggregateExpression) -> tuple[AttributeReference, ...]:
    function = aggregate.function
    spec = function.spec
    if spec.forms is not None:
        columns = spec.forms(function).plan_buffers
    elif spec.object_hash:
        columns = (Buffer("buf", BINARY),)
    else:
        columns = ()
    return tuple(
        AttributeReference(name=c.name, type_=c.data_type, is_nullable=c.nullable) for c in columns
    )


def _named(key: Expression) -> Expression:
    if isinstance(key, Alias) and isinstance(key.child, Literal):
        return replace(key, name=plan_text(key.child))  # whatever it was called: it is a constant
    if isinstance(key, AttributeReference | Alias):
        return key
    return Alias(child=key, name=plan_text(key))


def take_apart(logical: Aggregate) -> PhysicalAggregation:
    """Separate what an Aggregate computes per group from what it makes of it afterwards."""
    keys = tuple(_named(key) for key in logical.grouping)
    distinct: dict[Canonical, AggregateExpression] = {}
    for item in logical.aggregates:
        for aggregate in item.collect(AggregateExpression):
            distinct.setdefault(canonical(aggregate), aggregate)
    columns: dict[Canonical, Expression] = {
        canonical(expression): to_attribute(key)
        for expression, key in zip(logical.grouping, keys, strict=True)
    }

    def rewritten(expression: Expression) -> Expression:
        if isinstance(expression, AggregateExpression):
            kept = distinct[canonical(expression)]
            return result_column(kept)
        if isinstance(expression, AttributeReference):
            return expression
        column = None if isinstance(expression, Alias) else columns.get(canonical(expression))
        return expression.map_children(rewritten) if column is None else column

    aggregates = tuple(distinct.values())
    return PhysicalAggregation(
        keys=tuple(normalize_floats(key) for key in keys),
        aggregates=aggregates,
        buffers=tuple(_buffers(a) for a in aggregates),
        results=tuple(rewritten(item) for item in logical.aggregates),
        origin=where_from(logical),
        keys_pulled_out=logical.keys_pulled_out,
    )


def parts_of(logical: Aggregate, plan_later: PlanLater) -> PhysicalAggregation:
    """The aggregation taken apart, with what the settings say of it."""
    conf = plan_later.conf
    return replace(take_apart(logical), objects=conf.flag(_OBJECTS), hashes=conf.flag(_HASHES))


def plan_aggregation(logical: Aggregate, plan_later: PlanLater) -> SparkPlan:
    """The steps of a streaming aggregation, with sessions if a key is a session window.

    Raises:
        PlanningError: a session window is the only key.
    """
    parts = parts_of(logical, plan_later)
    child = plan_later(logical.child)
    if parts.session is None:
        version = plan_later.conf.integer("spark.sql.streaming.aggregation.stateFormatVersion")
        return plan_streaming_aggregation(parts, child, version)
    return plan_streaming_aggregation_for_session(
        parts,
        parts.session,
        child,
        plan_later.conf.integer("spark.sql.streaming.sessionWindow.stateFormatVersion"),
        plan_later.conf.flag("spark.sql.streaming.sessionWindow.merge.sessions.in.local.partition"),
    )


def partial_step(parts: PhysicalAggregation, child: SparkPlan) -> BaseAggregateExec:
    """Rows to buffers, within a partition."""
    return _step(parts, "Partial", None, child)


def final_step(
    parts: PhysicalAggregation, required: tuple[Expression, ...], child: SparkPlan
) -> BaseAggregateExec:
    """Buffers to results, where all of a key's are together."""
    return _step(parts, "Final", required, child)


def _step(
    parts: PhysicalAggregation,
    mode: AggregateMode,
    required: tuple[Expression, ...] | None,
    child: SparkPlan,
) -> BaseAggregateExec:
    return parts.operator(
        keys=parts.keys if mode == "Partial" else parts.key_attributes,
        aggregates=in_mode(parts.aggregates, mode),
        buffers=parts.buffers,
        results=parts.results if mode == "Final" else parts.buffered,
        required_keys=required,
        child=child,
    )


def plan_streaming_aggregation(
    parts: PhysicalAggregation, child: SparkPlan, state_format_version: int
) -> SparkPlan:
    """The progression of a streaming aggregation. What the stream holds behind each step:

    - partial: at most one row of buffers per key and input partition;
    - (exchange: a key's rows where its store is, put in by the preparation;)
    - merge: one row of buffers per key of this batch;
    - restore: that row and, if there is one, the row that state holds for the key;
    - merge: one row per key of this batch, state included;
    - save: stored; what the output mode lets out goes on: all keys, the changed, the evicted;
    - final: the results of the select list.
    """
    keys = parts.key_attributes
    merged = _step(parts, "PartialMerge", keys, partial_step(parts, child))
    restored = StateStoreRestoreExec(
        keys=keys, state_format_version=state_format_version, child=merged
    )
    saved = StateStoreSaveExec(
        keys=keys,
        state_format_version=state_format_version,
        origin=parts.origin,
        child=_step(parts, "PartialMerge", keys, restored),
    )
    return final_step(parts, keys, saved)


def plan_streaming_aggregation_for_session(
    parts: PhysicalAggregation,
    session: AttributeReference,
    child: SparkPlan,
    state_format_version: int,
    merge_in_local_partition: bool,
) -> SparkPlan:
    """The progression for session windows. What the stream holds behind each step:

    - partial: one row of buffers per key and equal session (start, end) of an input partition;
    - merging sessions, if asked for: overlapping sessions of an input partition made one;
    - (exchange by the key without the session, sort by key and session start;)
    - restore: the batch's sessions and those that state holds for its keys, in order, late ones
      dropped;
    - merging sessions: overlapping sessions made one, their buffers merged;
    - save: the key's sessions replaced; all sessions or the ended ones go on;
    - final: the results of the select list.

    Raises:
        PlanningError: there is no key besides the session.
    """
    keys = tuple(k for k in parts.key_attributes if k.expr_id != session.expr_id)
    if not keys:
        raise PlanningError.of("_LEGACY_ERROR_TEMP_3068")
    rows: SparkPlan = partial_step(parts, child)
    if merge_in_local_partition:
        rows = _merge_sessions(parts, session, None, rows)
    restored = SessionWindowStateStoreRestoreExec(
        keys=keys, session=session, state_format_version=state_format_version, child=rows
    )
    saved = SessionWindowStateStoreSaveExec(
        keys=keys,
        session=session,
        state_format_version=state_format_version,
        origin=parts.origin,
        child=_merge_sessions(parts, session, keys, restored),
    )
    return final_step(parts, keys, saved)


def _merge_sessions(
    parts: PhysicalAggregation,
    session: AttributeReference,
    required: tuple[Expression, ...] | None,
    child: SparkPlan,
) -> SparkPlan:
    return MergingSessionsExec(
        keys=parts.key_attributes,
        session=session,
        # Filters stay in Spark's plan here, though they have done their work in the partial step.
        aggregates=tuple(replace(a, mode="PartialMerge") for a in parts.aggregates),
        keys_pulled_out=parts.keys_pulled_out,
        buffers=parts.buffers,
        results=parts.buffered,
        required_keys=required,
        child=child,
    )
