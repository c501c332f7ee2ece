"""A query: planned on demand, explained, run."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .collecting import without_collections
from .described_sources import catalog_source
from .description import Description, SinkDescription, SourceDescription
from .model.catalog import Source
from .model.errors import DescriptionError
from .model.expressions.core import Alias, AttributeReference, Expression, LambdaVariable
from .model.ids import fresh_id, id_scope
from .model.output_modes import OUTPUT_MODES
from .model.plans.query_plan import LogicalPlan
from .model.schemas.ddl import timestamp_type
from .model.settings.conf import Conf
from .model.settings.conf_checks import check_settings
from .model.text.literal_text import time_zone_scope
from .model.tree import replace

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.listener import StreamingQueryListener

    from ..runtime.progress import Listener
    from ..runtime.query import StreamingQuery
    from ..runtime.sinks import Sink
    from .advice import Advice
    from .incremental_execution import IncrementalExecution


class Query:
    """One streaming query.

    Args:
        query: SQL text, a logical plan, or PySpark code: a function of DataFrames, whose parameters
            are named as the sources are, that gives a DataFrame.
        sources: what it may name.
        output_mode: append, update or complete.
        conf: its settings.
        description: what it was read from, for running.
        folder: what relative paths are relative to.
        tables: the sources are tables, which SQL reads at rest, or with STREAM as streams.
        names: of the stateful operators, the one nearest the sink first: our runtime then finds
            their state by name, and an operator that is added shifts no other.
    """

    def __init__(
        self,
        query: str | LogicalPlan | Callable[..., DataFrame],
        *,
        sources: Mapping[str, SourceDescription],
        output_mode: str = "append",
        conf: Conf | None = None,
        description: Description | None = None,
        folder: Path | None = None,
        tables: bool = False,
        names: Sequence[str] = (),
    ) -> None:
        if output_mode not in OUTPUT_MODES:
            raise DescriptionError.of(
                "STATEPLAN_UNKNOWN_OUTPUT_MODE",
                hint=f"Use one of {', '.join(OUTPUT_MODES)}.",
                output_mode=output_mode,
            )
        self._query = query
        self.sources = dict(sources)
        self.output_mode = output_mode
        self.conf = conf or Conf()
        self.description = description or Description(sql="", sources=self.sources)
        self.folder = folder or Path()
        self._are_tables = tables
        self.names = tuple(names)
        if len(set(self.names)) != len(self.names) or not all(self.names):
            raise DescriptionError.of(
                "STATEPLAN_OPERATOR_NAMES_REPEATED", names=", ".join(self.names)
            )

    @classmethod
    def of(
        cls,
        description: Description,
        *,
        conf: Conf | None = None,
        output_mode: str | None = None,
        folder: Path | None = None,
    ) -> Query:
        """The query of a description; `conf` and `output_mode` take the place of its own."""
        return cls(
            (description.sql or "").strip(),
            sources=description.sources,
            output_mode=output_mode or description.output_mode,
            conf=Conf(description.conf) if conf is None else conf,
            description=description,
            folder=folder,
            names=description.names,
        )

    def with_conf(self, conf: Conf) -> Query:
        """The same query under other settings."""
        return Query(
            self._query,
            sources=self.sources,
            output_mode=self.output_mode,
            conf=conf,
            description=self.description,
            folder=self.folder,
            tables=self._are_tables,
            names=self.names,
        )

    # ---------------------------------------------------------------------------------- planning

    @cached_property
    def catalog(self) -> dict[str, Source]:
        """The sources as the planner knows them."""
        with timestamp_type(self.conf["spark.sql.timestampType"]):
            return {
                name: catalog_source(name, source, self.path(source.path), either=self._are_tables)
                for name, source in self.sources.items()
            }

    @cached_property
    def execution(self) -> IncrementalExecution:
        """The query's phases, up to the executed plan of its first batch.

        Raises:
            AnalysisError: its SQL cannot be read.
        """
        from .incremental_execution import IncrementalExecution

        check_settings(self.conf)
        if self._query == "" and self.description.python is not None:
            return self._python_execution(self.description.python)
        if callable(self._query):
            return self._python_execution(self._query)
        ids = itertools.count()
        with id_scope(ids):
            logical = self._logical()
        return IncrementalExecution(
            logical,
            catalog=self.catalog,
            output_mode=self.output_mode,
            conf=self.conf,
            ids=ids,
            state_names=self.names,
        )

    def _python_execution(self, code: str | Callable[..., DataFrame]) -> IncrementalExecution:
        """The execution of PySpark code."""
        from .connect import needed

        with needed("A query in Python"):
            from .connect.local import evaluate
        session, frame = evaluate(code, self.catalog, self.conf)
        execution = session.execution(frame, self.output_mode)
        execution.given_names = self.names
        return execution

    def _logical(self) -> LogicalPlan:
        if isinstance(self._query, LogicalPlan):
            return renumbered(self._query)
        assert isinstance(self._query, str)
        from .sql import parse

        return parse(self._query, self.conf)

    def explain(self, mode: str = "simple", *, advice: bool = False) -> str:
        """The plan's text; the modes are those of `explaining.explain`.

        Args:
            mode: the mode.
            advice: with advice below it; in JSON under the key `advice`.

        Raises:
            StateplanError: the query cannot be planned, or there is no such mode.
        """
        from .explaining import explain, with_advice

        with without_collections():
            text = explain(self.execution, mode)
        return with_advice(text, mode, self.advice()) if advice else text

    def html(self, title: str | None = None) -> str:
        """A page with the plan as a graph, the facts of each operator, and advice.

        Raises:
            StateplanError: the query cannot be planned.
        """
        from .pages.plan_page import PlanView, explain_page

        name = title or self.description.title or self.description.id or "query"
        view = PlanView(plan=self.execution.executed_plan, advice=self.advice())
        with time_zone_scope(self.conf.time_zone):
            return explain_page(f"{name}, {self.output_mode} mode", [view])

    def _repr_html_(self) -> str:
        """What a notebook shows of a query: its page."""
        from .pages.shell import framed

        return framed(self.html())

    def advice(self) -> tuple[Advice, ...]:
        """What in the plan costs more or gives less than one may expect; see `advice_rules.RULES`.

        Raises:
            StateplanError: the query cannot be planned.
        """
        from .advice import advice_on, stream_sizes
        from .advice_rules import Facts

        streams = {n: s for n, s in self.sources.items() if not s.static}
        sizes = stream_sizes({n: self.path(s.path) for n, s in streams.items()})
        return advice_on(Facts(self.execution.executed_plan, self.conf, sizes))

    # ----------------------------------------------------------------------------------- running

    def run(
        self,
        spark: SparkSession | None = None,
        *,
        engine: str = "auto",
        sources: Mapping[str, Any] | None = None,
        sink: Sink | str | Mapping[str, Any] | Callable[[DataFrame, int], object] | None = None,
        foreach_batch: Callable[[DataFrame, int], object] | None = None,
        foreach: Any = None,
        trigger: str | Mapping[str, Any] | None = None,
        checkpoint: str | Path | None = None,
        name: str | None = None,
        listeners: Sequence[Listener | StreamingQueryListener] = (),
        tasks: int | None = None,
        background: bool = True,
        allow: Sequence[str] = (),
    ) -> StreamingQuery:
        """Start the query, or go on from its checkpoint.

        Args:
            spark: the session; its settings are neither used nor changed. None: one on the engine.
            engine: `spark`, `embedded` (Sail in this process, without Java), or `auto`: that of the
                session; else Spark where PySpark and Java are installed, else the embedded one.
            sources: what takes the place of sources described, by name: a mapping as in a
                description, rows (a list, a pyarrow Table, a pandas DataFrame), or a `Source`.
            sink: a format, a mapping as in a description, a function of each batch's DataFrame and
                number, or a `Sink`; by default the description's, else the console. Paths given
                here are relative to the working directory.
            foreach_batch: the function, under Spark's name.
            foreach: a function of a row, or an object with `process(row)` and maybe `open` and
                `close`, as PySpark's `foreach` takes it.
            trigger: `available_now`, `once`, `default`, an interval such as `10 seconds`, or a
                mapping of PySpark's arguments such as `{"processingTime": "10 seconds"}`.
            checkpoint: a directory; by default the description's, else a temporary one.
            name: the query's name.
            listeners: functions of each batch's figures, or objects of PySpark's
                StreamingQueryListener.
            tasks: how many tasks run each stateful operator.
            background: run in a thread of its own; else return when the trigger ends.
            allow: verdicts of `stateplan check` on a change since the last start that it goes on
                with all the same: `differs`, `refused`.

        Raises:
            StateplanError: the query cannot start.
        """
        with without_collections():
            from ..runtime.engines.opening import open_session
            from ..runtime.given import check_names, inputs_of, sink_of, source_of
            from ..runtime.sinks import ForeachSink
            from ..runtime.streaming import StartRequest, start
            from ..runtime.triggers import DEFAULT, parse_trigger

        if sum(one is not None for one in (sink, foreach_batch, foreach)) > 1:
            raise DescriptionError.of("STATEPLAN_BAD_SINK")
        written = self.description.trigger if trigger is None else trigger
        chosen = DEFAULT if written is None else parse_trigger(written)
        place = checkpoint if checkpoint is not None else self.path(self.description.checkpoint)
        called = name or self.description.name or self.description.id
        check_names(sources or {}, self.catalog)
        given = {
            name: source_of(name, one, self.catalog[name], self.conf.time_zone)
            for name, one in (sources or {}).items()
        }
        session, _ = open_session(engine, "run", spark=spark)
        streams, tables = inputs_of(self.sources, given, self.path)
        described = self.description.sink or SinkDescription(format="console")
        if foreach is not None:
            sink = ForeachSink(foreach)
        taken = next((one for one in (sink, foreach_batch) if one is not None), described)
        request = StartRequest(
            execution=self.execution,
            sources=streams,
            tables=tables,
            sink=sink_of(taken, self.path, session, called),
            trigger=chosen,
            checkpoint=place,
            name=called,
            listeners=listeners,
            tasks=tasks,
            allow=allow,
        )
        return start(session, request, background=background)

    def path(self, path: str | None) -> str | None:
        """A path of the description, made relative to its file."""
        if path is None or "://" in path or path.startswith("file:"):
            return path
        return str(self.folder / path)


def renumbered(plan: LogicalPlan) -> LogicalPlan:
    """The plan with fresh ids for its aliases and attributes, the same for the same.

    Nodes built in Python draw their ids before there is a query; the query's own ids start anew.
    """
    fresh: dict[int, int] = {}

    def new_id(node: Expression) -> Expression:
        if not isinstance(node, Alias | AttributeReference | LambdaVariable):
            return node
        if node.expr_id not in fresh:
            fresh[node.expr_id] = fresh_id()
        return replace(node, expr_id=fresh[node.expr_id])

    def new_ids(node: LogicalPlan) -> LogicalPlan:
        attributes = getattr(node, "attributes", None)
        if attributes is not None and "attributes" not in node.expression_fields:
            own = tuple(new_id(attribute) for attribute in attributes)
            node = replace(node, attributes=own)  # type: ignore[call-arg]
        return node.transform_expressions(new_id)

    return plan.transform_up(new_ids)
