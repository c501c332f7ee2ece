"""Plans the flows of a pipeline, each after the data sets that it reads.

A flow that names a data set which is not there yet ends with TABLE_OR_VIEW_NOT_FOUND; the data set
is then made of its own flows, and the flow is planned again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ...model.catalog import Source, TempView
from ...model.errors import AnalysisError, StateplanError
from ...model.expressions.core import Alias, Expression
from ...model.plans.logical import Project
from ...model.plans.query_plan import LogicalPlan
from ...model.plans.relations import (
    AnalyzedPlan,
    Relation,
    StreamingRelation,
    UnresolvedRelation,
    View,
)
from ...model.schemas.types import DataType, StructType
from ...model.text.logical_text import subplans
from ...pipelines import refusals
from ...pipelines.model import Dataset, DatasetKind, Flow, Identifier, Pipeline, Read, is_target
from ...pipelines.schemas import table_schema
from ..console import Console
from ..places import placed
from ..protocol import PENDING, UNKNOWN_TABLE
from .eager import eager_steps

if TYPE_CHECKING:
    from ..session import Planned, PlannerSession

_VIEW_CHECK = "pipelines.incompatibleViewCheck.enabled"


class _Refused(Exception):
    """The graph as a whole is refused: no flow is planned any more."""

    def __init__(self, error: StateplanError) -> None:
        super().__init__(error)
        self.error = error


class _UpstreamFailed(AnalysisError):
    """What a flow reads could not be planned.

    Attributes:
        cause: the error that a flow above it has of its own.
    """

    cause: StateplanError


class Resolution:
    """One run of a pipeline over a session's tables.

    Args:
        session: plans; data sets become its tables and views as they are resolved.
        pipeline: the graph.
    """

    def __init__(self, session: PlannerSession, pipeline: Pipeline) -> None:
        self.session = session
        self.pipeline = pipeline
        self._frames: dict[Flow, Planned] = {}
        self._errors: dict[Flow, StateplanError] = {}
        self._available: dict[Identifier, Dataset] = {}
        self._under_way: list[Dataset] = []
        self._given: dict[str, Dataset] = {}
        self._running = False

    # ------------------------------------------------------------------------ asked by the session

    def defines(self, error: StateplanError) -> bool:
        """Whether an error names a data set of the pipeline as a table that is not there."""
        return self._missing(error) is not None or self._is_pending(error)

    def provide(self, error: StateplanError) -> bool:
        """Make the data set that an error misses; False if the pipeline has none of that name.

        Raises:
            StateplanError: a flow that writes it is refused.
        """
        dataset = self._missing(error)
        if dataset is None:
            return False
        # Until the run begins, what a data set is made of may still be defined.
        if not self._running and not self.pipeline.flows_of(dataset):
            return False
        spelled = ".".join(error.subject).replace("`", "")
        if dataset.identifier not in self._available:
            try:
                self._make(dataset)
            except _UpstreamFailed as failed:
                if self._running:
                    raise
                self._errors.clear()
                raise failed.cause from None
            except _Refused as refused:
                if self._running:
                    raise
                raise refused.error from None
        self._name(dataset, spelled)
        return True

    def plan_again(self) -> None:
        """Plan what was planned of open schemas anew: they have more columns than before."""
        for flow in list(self._frames):
            with self._scope(flow):
                self._frames[flow] = self.session.replanned(flow.query)
            for name, dataset in self._given.items():
                if flow in self.pipeline.flows_of(dataset):
                    self._name(dataset, name)

    def check_reads(self, plan: LogicalPlan) -> None:
        """Refuse a view of a stream that is read at rest, and the other way round.

        Raises:
            AnalysisError: there is one.
        """
        if self.session.settings.get(_VIEW_CHECK, "true").lower() == "false":
            return
        for relation in _unresolved(plan):
            dataset = self._known(relation.parts)
            if (
                dataset is None
                or not dataset.kind.is_view
                or dataset.identifier not in self._available
            ):
                continue
            view = self.session.views[dataset.name.lower()]
            if view.plan.is_streaming != relation.streaming:
                name = dataset.identifier[-1]
                raise refusals.incompatible_view_read(name, streaming_view=view.plan.is_streaming)

    def _is_pending(self, error: StateplanError) -> bool:
        if error.condition not in UNKNOWN_TABLE or not error.subject:
            return False
        pending = self.session.settings.get(PENDING, "").splitlines()
        return any(is_target(name, ".".join(error.subject)) for name in pending)

    def _missing(self, error: StateplanError) -> Dataset | None:
        if error.condition not in UNKNOWN_TABLE or not error.subject:
            return None
        dataset = self._known(error.subject)
        if dataset is None or ".".join(error.subject).lower() in self._names():
            return None
        return dataset

    def _known(self, parts: Identifier) -> Dataset | None:
        return self.pipeline.found(parts, database=self.session.database)

    def _names(self) -> set[str]:
        return {name.lower() for name in (*self.session.tables, *self.session.views)}

    # ------------------------------------------------------------------------------------ data sets

    def _make(self, dataset: Dataset) -> None:
        if dataset in self._under_way:
            below = self._under_way[-1]
            raise _Refused(refusals.circular(dataset.identifier, below.identifier, below.origin))
        self._under_way.append(dataset)
        try:
            flows = self.pipeline.flows_of(dataset)
            for flow in flows:
                self._resolve(flow)
            errors = [self._errors[flow] for flow in flows if flow in self._errors]
            if errors or not flows:
                error = refusals.not_resolved(dataset)
                failed = _UpstreamFailed(error.condition, error.message, hint=error.hint)
                first = errors[0] if errors else error
                failed.cause = first.cause if isinstance(first, _UpstreamFailed) else first
                raise failed
            if dataset.kind.is_table:
                self._schema(dataset, flows)
        finally:
            self._under_way.pop()
        self._available[dataset.identifier] = dataset
        self._name(dataset, dataset.name)

    def _schema(self, dataset: Dataset, flows: list[Flow]) -> StructType:
        """The columns of a table; a refusal of them ends the run.

        Those declared are right where Databricks, or a guess, gives others.
        """
        if dataset.schema is not None and (
            self.pipeline.databricks or self.session.guesses.sources
        ):
            return dataset.schema
        try:
            return table_schema(
                dataset,
                [self._written(flow) for flow in flows],
                self.session.conf.fold,
            )
        except StateplanError as error:
            raise _Refused(error) from None

    def _written(self, flow: Flow) -> StructType:
        """The columns that a flow gives its target."""
        frame = self._frames[flow]
        schema = frame.analyzed.schema
        if flow.auto_cdc is None:
            return schema
        if flow.auto_cdc.deletes is not None:
            self._type(frame, flow.auto_cdc.deletes)
        sequence = self._type(frame, flow.auto_cdc.sequence_by)
        return flow.auto_cdc.target_schema(schema, sequence, self.session.conf)

    def _type(self, frame: Planned, expression: Expression) -> DataType:
        """The type of an expression over a flow's columns."""
        column = Alias(child=expression, name="value")
        plan = Project(project_list=(column,), child=AnalyzedPlan(child=frame.analyzed))
        return self.session.analyzed(plan).output[0].data_type

    def _name(self, dataset: Dataset, name: str) -> None:
        """Let queries name a data set."""
        self._given[name] = dataset
        flows = self.pipeline.flows_of(dataset)
        if dataset.kind.is_view:
            plan = self._frames[flows[0]].analyzed
            self.session.views[name.lower()] = TempView(name=dataset.name, plan=plan)
            return
        self.session.tables[name] = Source(
            name=dataset.name,
            schema=self._schema(dataset, flows),
            format=dataset.format or "parquet",
            either=True,
            identifier=".".join(dataset.identifier),
        )

    # ---------------------------------------------------------------------------------------- flows

    def _resolve(self, flow: Flow) -> None:
        """Plan a flow once; an error of its own is kept."""
        if flow in self._frames or flow in self._errors:
            return
        with self._scope(flow):
            try:
                used = () if flow.auto_cdc is None else flow.auto_cdc.used
                frame = self.session.planned(flow.query, used)
            except StateplanError as error:
                self._errors[flow] = placed(error, flow.origin)
                return
        self._frames[flow] = frame
        flow.streaming = frame.analyzed.is_streaming
        flow.reads = tuple(dict.fromkeys(self._reads(frame.analyzed)))

    @contextmanager
    def _scope(self, flow: Flow) -> Iterator[None]:
        """The settings and the database of a flow."""
        before: tuple[Mapping[str, str], str] = (self.session.settings, self.session.database)
        own = {**self.session.settings, **self.pipeline.settings, **flow.settings}
        self.session.settings, self.session.database = own, flow.database
        try:
            yield
        finally:
            self.session.settings, self.session.database = dict(before[0]), before[1]

    def _reads(self, plan: LogicalPlan) -> Iterator[Read]:
        """What a query reads, not looking into views."""
        if isinstance(plan, View):
            dataset = self._known(tuple(plan.name.split(".")))
            name = plan.name if dataset is None else dataset.name
            yield Read(name=name, streaming=plan.is_streaming, within=dataset is not None)
            return
        if isinstance(plan, StreamingRelation):
            yield Read(name=plan.format, streaming=True, within=False)
        elif isinstance(plan, Relation):
            yield Read(name=plan.name, streaming=False, within=False)
        for part in (*plan.children, *subplans(plan)):
            yield from self._reads(part)

    # ------------------------------------------------------------------------------------------ run

    def run(self, console: Console) -> None:
        """Plan all flows and show the graph and their plans.

        Raises:
            StateplanError: the graph is refused, or a flow; what could be planned is shown.
        """
        self._running = True
        refused: list[_Refused] = []
        eager = list(eager_steps(self.pipeline))
        if not self.pipeline.databricks:
            for step in eager:
                if step.dataset.kind.is_view:
                    raise step.refusal()
        self._plan_all(refused)
        for dataset in () if refused or self._errors else self.pipeline.datasets:
            try:
                self._check_flows(dataset)
            except _Refused as error:
                refused.append(error)
        failed = self._planned_executions()
        if not self.pipeline.databricks:
            for step in eager:
                console.note(step.note())
        console.show_pipeline(self.pipeline)
        if refused:
            raise refused[0].error
        self._report(console, failed)

    def _plan_all(self, refused: list[_Refused]) -> None:
        """Plan every flow that can be; what the graph is `refused` for costs no other plan."""
        pipeline = self.pipeline
        if all(dataset.kind is DatasetKind.TEMPORARY_VIEW for dataset in pipeline.datasets):
            raise refusals.refusal("RUN_EMPTY_PIPELINE")
        for dataset in pipeline.datasets:
            if dataset.kind.is_table and not pipeline.flows_of(dataset):
                refused.append(_Refused(refusals.without_flow(dataset)))
        for flow in pipeline.flows:
            if pipeline.target_of(flow) is None:
                refused.append(_Refused(refusals.unknown_target(flow)))
        steps: list[Dataset | Flow] = [
            one for one in pipeline.datasets if one.kind.is_table or one.kind.is_view
        ]
        for step in (*steps, *pipeline.flows):
            try:
                if isinstance(step, Flow):
                    self._resolve(step)
                elif step.identifier not in self._available:
                    self._make(step)
            except _UpstreamFailed:
                continue  # its flows have their errors
            except _Refused as error:
                refused.append(error)

    def _planned_executions(self) -> dict[Flow, StateplanError]:
        """Plan the flows; what only the run refuses, by flow."""
        failed: dict[Flow, StateplanError] = {}
        for flow in self.pipeline.flows:
            target = self.pipeline.target_of(flow)
            if flow not in self._frames or target is None or target.kind.is_view:
                continue
            with self._scope(flow):
                try:
                    frame = self._frames[flow]
                    execution = self.session.execution(frame, supported=flow.streaming)
                    _ = execution.executed_plan
                    flow.execution = execution
                except StateplanError as error:
                    failed[flow] = placed(error, flow.origin)
        return failed

    def _check_flows(self, dataset: Dataset) -> None:
        flows = self.pipeline.flows_of(dataset)
        if len(flows) > 1 and any(flow.auto_cdc is not None for flow in flows):
            raise _Refused(refusals.several_change_flows(dataset, flows))
        if len(flows) > 1 and dataset.kind is DatasetKind.MATERIALIZED_VIEW:
            raise _Refused(refusals.several_queries(dataset, flows))
        for flow in flows:
            wrong = {
                (DatasetKind.STREAMING_TABLE, False): "BATCH_RELATION_FOR_STREAMING_TABLE",
                (DatasetKind.MATERIALIZED_VIEW, True): "STREAMING_RELATION_FOR_MATERIALIZED_VIEW",
                (DatasetKind.PERSISTED_VIEW, True): "STREAMING_RELATION_FOR_PERSISTED_VIEW",
            }.get((dataset.kind, flow.streaming))
            if wrong is not None and not flow.once:
                raise _Refused(refusals.wrong_query_type(wrong, flow))

    def _report(self, console: Console, failed: dict[Flow, StateplanError]) -> None:
        """Print every flow's error, then that of the run."""
        own: list[Flow] = []
        downstream: list[Flow] = []
        for flow in self.pipeline.flows:
            error = self._errors.get(flow)
            if error is None:
                continue
            (downstream if isinstance(error, _UpstreamFailed) else own).append(flow)
            console.flow_failed(flow.name, error)
        broken = [(flow, failed[flow]) for flow in self.pipeline.flows if flow in failed]
        for flow, error in broken if own or downstream else broken[1:]:
            console.flow_failed(flow.name, error)
        if own or downstream:
            raise refusals.unresolved_flows(own, downstream)
        if broken:
            raise broken[0][1]


def _unresolved(plan: LogicalPlan) -> Iterator[UnresolvedRelation]:
    """The tables that a plan as written names, those in subqueries and WITH too."""
    if isinstance(plan, UnresolvedRelation):
        yield plan
    for part in (*plan.children, *subplans(plan)):
        yield from _unresolved(part)
