"""One query's planning, phase by phase, and its executed plan for each batch."""

from __future__ import annotations

import copy
import itertools
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property

from ..physical.plan import SparkPlan, StateStoreWriter
from ..physical.state import UNKNOWN_CHECKPOINT, StatefulOperatorStateInfo
from ..rules.analysis import analyze, inline_ctes
from ..rules.optimization import optimize
from ..rules.optimization.operators.distinct import rewrite_all_distinct_aggregates
from ..rules.preparation import prepare
from ..rules.preparation.state import for_version, has_single_watermark, propagate_watermarks
from ..rules.support import check_for_streaming
from .model.catalog import Catalog
from .model.errors import PlanningError
from .model.ids import id_scope
from .model.memo import memo_scope
from .model.output_modes import OutputMode
from .model.plans.query_plan import LogicalPlan
from .model.plans.relations import highest_id
from .model.settings.conf import Conf
from .model.text.literal_text import time_zone_scope
from .strategies import plan_physical

# Named by content, so that the same query gives the same text in every process.
_NO_RUN = str(uuid.uuid5(uuid.NAMESPACE_URL, "stateplan: not started"))


class IncrementalExecution:
    """A streaming query through its phases, each made when first asked for.

    Args:
        logical: the query, unresolved.
        catalog: the sources it may name.
        output_mode: append, update or complete.
        conf: its settings; once a query has run, those that its offset log pinned.
        checkpoint_location: the checkpoint's `state` directory.
        run_id: the run's UUID.
        batch_id: the batch, which is also the version of the state that it reads.
        watermark_late: the query's watermark of the batch before, in milliseconds; None before a
            start.
        watermark_eviction: the query's watermark of this batch, in milliseconds; None before a
            start.
        ids: the counter of expression ids. It must be the one that `logical` was made with, if any
            of its expressions has an id already.
        analyzed: `logical` analyzed, where that is done already.
        supported_only: refuse what streams do not support.
        state_names: the user's names of the stateful operators, those nearest the sink first.
        stored_ids: the ids that these have in a checkpoint; new ones get ids behind all of them.
    """

    def __init__(
        self,
        logical: LogicalPlan,
        *,
        catalog: Catalog,
        output_mode: OutputMode,
        conf: Conf,
        checkpoint_location: str = UNKNOWN_CHECKPOINT,
        run_id: str | None = None,
        batch_id: int = 0,
        watermark_late: int | None = None,
        watermark_eviction: int | None = None,
        ids: Iterator[int] | None = None,
        analyzed: LogicalPlan | None = None,
        supported_only: bool = True,
        state_names: Sequence[str] = (),
        stored_ids: Mapping[str, int] | None = None,
    ) -> None:
        self.logical = logical
        self.catalog = catalog
        self.output_mode: OutputMode = output_mode
        self.conf = conf
        self.checkpoint_location = checkpoint_location
        self.run_id = _NO_RUN if run_id is None else run_id
        self.batch_id = batch_id
        self.watermark_late = watermark_late
        self.watermark_eviction = watermark_eviction
        self.adaptive: bool | None = None  # the plan itself says whether it adapts
        self._ids = itertools.count(highest_id(logical) + 1) if ids is None else ids
        self._operator_ids = itertools.count()
        self._given = analyzed
        self._supported_only = supported_only
        self.given_names = tuple(state_names)
        self.stored_ids = dict(stored_ids or {})

    @cached_property
    def state_names(self) -> tuple[str, ...]:
        """The names of the stateful operators: those given, else those of hints; () without any.

        Raises:
            PlanningError: hints name some of the operators only, or two alike, or one that the
                optimizer takes away.
        """
        if self.given_names:
            return self.given_names
        origins = [writer.origin for writer in self.spark_plan.collect(StateStoreWriter)]
        names = tuple("" if origin is None else origin.state_name for origin in origins)
        hinted = {n.origin.state_name for n in self.checked.walk() if n.origin is not None} - {""}
        if hinted and (set(names) != hinted or len(set(names)) < len(names)):
            raise PlanningError.of(
                "STATEPLAN_OPERATOR_HINTS",
                names=", ".join(sorted(hinted)),
                given=", ".join(name or "none" for name in names) or "no place for them",
            )
        return names if hinted else ()

    @contextmanager
    def _scope(self) -> Iterator[None]:
        """Fresh ids are the query's, constants have its time zone, and a phase remembers."""
        with id_scope(self._ids), time_zone_scope(self.conf.time_zone), memo_scope():
            yield

    @cached_property
    def analyzed(self) -> LogicalPlan:
        """Names, types and windows resolved.

        Raises:
            AnalysisError: Spark's analyzer would refuse the query.
        """
        if self._given is not None:
            return self._given
        with self._scope():
            return analyze(self.logical, self.catalog, self.conf)

    @cached_property
    def checked(self) -> LogicalPlan:
        """The analyzed plan with WITH's definitions put in, known to be supported on a stream.

        Raises:
            StreamingCheckError: it is not.
        """
        if self._supported_only:
            check_for_streaming(self.analyzed, self.output_mode, self.conf)
        with self._scope():
            return inline_ctes(self.analyzed)

    @cached_property
    def optimized(self) -> LogicalPlan:
        """The logical rewrites done."""
        with self._scope():
            return optimize(self.checked, self.conf)

    @cached_property
    def spark_plan(self) -> SparkPlan:
        """The physical operators, not yet placed.

        Raises:
            PlanningError: an operator has no physical plan.
        """
        with self._scope():
            return plan_physical(self.optimized, output_mode=self.output_mode, conf=self.conf)

    @cached_property
    def executed_plan(self) -> SparkPlan:
        """The plan of batch `batch_id`, with state info, exchanges and stage marks.

        Raises:
            PlanningError: there are names, but not one for each stateful operator.
        """
        with self._scope():
            plan = prepare(self.spark_plan, self)
        writers = plan.collect(StateStoreWriter)
        if self.state_names and len(self.state_names) != len(writers):
            raise PlanningError.of(
                "STATEPLAN_OPERATOR_NAMES",
                operators=len(writers),
                count=len(self.state_names),
                names=", ".join(self.state_names),
            )
        return plan

    def plan_subquery(self, logical: LogicalPlan) -> SparkPlan:
        """The operators of a subquery's optimized plan, not yet placed."""
        return plan_physical(logical, output_mode="append", conf=self.conf)

    def next_stateful_operation_state_info(self) -> StatefulOperatorStateInfo:
        """State info under the next operator id: 0, 1, ... in the order of asking.

        Operators with names have the ids that a checkpoint knows these by.
        """
        place = next(self._operator_ids)
        if place < len(self.state_names):
            name = self.state_names[place]
            new = [n for n in self.state_names if n not in self.stored_ids]
            first = max(self.stored_ids.values(), default=-1) + 1
            place = self.stored_ids[name] if name not in new else first + new.index(name)
        return StatefulOperatorStateInfo(
            checkpoint_location=self.checkpoint_location,
            run_id=self.run_id,
            operator_id=place,
            version=self.batch_id,
            num_partitions=self.conf.shuffle_partitions,
        )

    def for_batch(self, batch_id: int, late_ms: int, eviction_ms: int) -> SparkPlan:
        """The executed plan of another batch: only state versions and watermarks differ.

        Args:
            batch_id: the batch, whose number is the state version that it reads.
            late_ms: the query's watermark of the batch before, by which rows are late.
            eviction_ms: the query's watermark of this batch, by which state leaves.

        Raises:
            PlanningError: a watermark stands above another one, and the query's has left 1970.
        """
        single = has_single_watermark(self.conf)
        return for_version(self.executed_plan, batch_id, late_ms, eviction_ms, single=single)

    def with_executed_plan(self, plan: SparkPlan) -> IncrementalExecution:
        """The query's phases with the plan of one of its batches."""
        found = copy.copy(self)
        found.executed_plan = plan
        return found

    def without_distinct_aggregates(self) -> IncrementalExecution:
        """The query's phases where no strategy plans a DISTINCT aggregate; itself: none would."""
        with self._scope():
            rewritten = rewrite_all_distinct_aggregates(self.optimized, self.conf)
        if rewritten is self.optimized:
            return self
        found = copy.copy(self)
        found.optimized = rewritten
        for later in ("spark_plan", "executed_plan"):
            found.__dict__.pop(later, None)
        return found

    def should_run_another_batch(
        self, new_watermark_ms: int, executed: SparkPlan | None = None
    ) -> bool:
        """Whether a batch without data has something to emit or evict.

        Args:
            new_watermark_ms: the query's watermark after the batch.
            executed: the plan the batch ran with; `executed_plan` by default.

        Raises:
            PlanningError: as `for_batch`.
        """
        plan = self.executed_plan if executed is None else executed
        single = has_single_watermark(self.conf)
        inputs = {} if single else propagate_watermarks(plan, new_watermark_ms)
        for writer in plan.collect(StateStoreWriter):
            assert writer.state_info is not None
            own = new_watermark_ms if single else inputs.get(writer.state_info.operator_id)
            if own is not None and writer.should_run_another_batch(own):
                return True
        return False
