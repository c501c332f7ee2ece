"""A streaming query under test, step by step: rows in, batches, restarts, checks."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from ...physical.basic import EventTimeWatermarkExec
from ...planner.model.catalog import Source
from ...planner.model.conf import Conf
from ...planner.model.errors import DescriptionError, StateplanError
from ...planner.model.query_plan import LogicalPlan
from ...planner.model.types import TIMESTAMP, StructField
from ...planner.query import Query, described_sources
from ..comparison import as_text, plain, unmatched
from ..engines.opening import open_session
from ..inspection.stored import StoredStates
from ..progress import timestamp_text
from ..query import StreamingQuery
from ..rows import read_rows
from ..scenario_run import SCENARIO_CONF, CaughtRows, place_in_memory
from ..sources import MemorySource
from ..sources.tables import Table, ValuesTable
from ..streaming import start, stream_names
from ..triggers import MANUAL
from .report import arrowed, side_by_side, state_rows, state_text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Row = tuple[Any, ...]


class StreamTest:
    """A query on an engine, led by hand; batches run in the caller's thread.

    Rows of sources live in this object, the checkpoint in a directory of its own that goes with
    `close` (or at the end of a `with` block). Rows that come out have the values of scenario files:
    timestamps are text such as `2026-01-31T10:00:00Z`, structs mappings. Rows that are expected may
    be written so, or with Python's values; in any order, unless the query sorts (`ordered`).

    Args:
        query: a query; or SQL text; or a function of DataFrames, named as the sources are, that
            gives a DataFrame.
        sources: for text and functions, as for `stateplan.sql`.
        output_mode: for text and functions.
        conf: Spark settings, over those of the query; else 3 stores and UTC, as in scenarios.
        tables: rows of static tables, by name.
        engine: `auto` (embedded where it is installed, else Spark), `embedded` or `spark`.
        spark: a session to run on.
        tasks: how many tasks run each stateful operator.
        ordered: rows are compared in their order.

    Raises:
        StateplanError: the query cannot be planned or started.
    """

    def __init__(
        self,
        query: Query | str | LogicalPlan | Callable[..., DataFrame],
        sources: Mapping[str, Any] | None = None,
        *,
        output_mode: str = "append",
        conf: Mapping[str, str] | None = None,
        tables: Mapping[str, Any] | None = None,
        engine: str = "auto",
        spark: SparkSession | None = None,
        tasks: int | None = None,
        ordered: bool = False,
    ) -> None:
        if not isinstance(query, Query):
            described = described_sources(sources)
            query = Query(query, sources=described, output_mode=output_mode)
        self._settings = dict(conf or {})
        self._tasks, self._ordered = tasks, ordered
        self._query = self._configured(query)
        self._session, self.engine = open_session(engine, "test", spark=spark)
        self._folder = Path(tempfile.mkdtemp(prefix="stateplan-test-", dir=place_in_memory()))
        self._sources: dict[str, MemorySource] = {}
        self._tables: dict[str, Table] = {}
        self._caught = CaughtRows((), ordered)
        self._steps: list[str] = []
        self._checked = 0  # the first batch that no `expect` has seen
        try:
            self._lay_tables(dict(tables or {}))
            self._handle = self._start()
        except BaseException:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise

    def __enter__(self) -> StreamTest:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ------------------------------------------------------------------------------------- steps

    def add(self, source: str, rows: Any) -> StreamTest:
        """Add rows to a source: the next batch reads them.

        Args:
            source: its name.
            rows: see `read_rows`.

        Raises:
            DescriptionError: there is no such source, or a row is not one of its.
        """
        stream = self._stream(source)
        read = read_rows(rows, stream.schema.fields, self._zone, f"the source '{source}'")
        self._steps.append(f"add {len(read)} rows to {source}")
        stream.add(read)
        return self

    def run(self, *, crash: bool = False) -> list[Row]:
        """Run batches until there is nothing left to do; returns the rows that they emitted.

        Args:
            crash: the sink fails after it was handed the first batch and before that is committed;
                the query is started again from its checkpoint and runs the batch again.

        Raises:
            StateplanError: a batch failed.
            AssertionError: there was no batch to crash in, or it gave other rows the second time.
        """
        __tracebackhide__ = True
        first = self._handle.next_batch
        self._steps.append("run" + (", with a crash of the sink" if crash else ""))
        self._caught.crash = crash
        try:
            self._handle.process_all_available()
        except StateplanError as error:
            if not crash or self._caught.crash:
                raise self._with_steps(error) from None
            self._again_after_crash(first)
        if self._caught.crash:
            self._caught.crash = False
            raise self._failure(["no batch ran, so the sink could not crash"])
        ran = self._handle.next_batch
        rows = self._emitted(first)
        numbers = f"batch {first}" if ran == first + 1 else f"batches {first} to {ran - 1}"
        self._steps[-1] += f": {numbers if ran > first else 'no batch'}, {len(rows)} rows"
        return [tuple(row) for row in rows]

    def advance_watermark(self, to: Any) -> list[Row]:
        """Move the watermark, as rows would that leave no other trace, and run what that asks for.

        Args:
            to: the watermark itself: a datetime, or text such as `2026-01-31 10:00:00`. It never
                goes back.

        Raises:
            DescriptionError: it is no time, or the query has no watermark.
            StateplanError: a batch failed.
        """
        if not self._query.execution.executed_plan.collect(EventTimeWatermarkExec):
            raise DescriptionError(
                "STATEPLAN_NO_WATERMARK",
                f"The watermark cannot be moved to {to}: the query has none.",
                hint="Declare one: WATERMARK column DELAY OF INTERVAL n MINUTES, or withWatermark.",
            )
        field = StructField("watermark", TIMESTAMP)
        ((moment,),) = read_rows([(to,)], [field], self._zone, "advance_watermark")
        self._steps.append(f"advance the watermark to {plain(moment, TIMESTAMP)}")
        self._handle.advance_watermark(int(moment.timestamp() * 1000))
        return self.run()

    def restart(self, query: Query | str | Callable[..., DataFrame] | None = None) -> StreamTest:
        """Stop the query and start it again from its checkpoint.

        Args:
            query: a changed query to go on with, over the same sources.

        Raises:
            StateplanError: the query cannot go on from the checkpoint.
        """
        self._steps.append("restart" + (" with another query" if query is not None else ""))
        if query is not None:
            if not isinstance(query, Query):
                before = self._query
                query = Query(query, sources=before.sources, output_mode=before.output_mode)
            self._query = self._configured(query)
        self._handle.stop()
        self._handle = self._start()
        return self

    # ------------------------------------------------------------------------------------ checks

    def expect(self, rows: Any, *, ordered: bool | None = None) -> StreamTest:
        """Check the rows emitted since the last `expect`; in complete mode the result as it stands.

        Args:
            rows: exactly these; see `read_rows`.
            ordered: in this order; by default as the test was made.

        Raises:
            AssertionError: others were emitted; it shows the steps, both sides, state and plan.
        """
        __tracebackhide__ = True
        fields = self._output
        wanted = self._plain(rows, fields, "the expected output")
        first = self._checked
        if self._query.output_mode == "complete":
            first = max(self._caught.rows, default=0)
        emitted = self._emitted(first)
        self._checked = self._handle.next_batch
        self._steps.append(f"expect {len(wanted)} rows")
        in_order = self._ordered if ordered is None else ordered
        self._compare(wanted, emitted, [field.name for field in fields], in_order)
        return self

    def expect_state(self, rows: Any, operator: int = 0) -> StreamTest:
        """Check the rows that a stateful operator keeps.

        Args:
            rows: exactly these, in any order: mappings with some of the columns of the state's key
                and value (`stateplan state show` names them), or sequences of all.
            operator: the operator's id; 0 is the one nearest the sink.

        Raises:
            AssertionError: it keeps others.
            StateplanError: there is no such operator, or no batch has run.
        """
        __tracebackhide__ = True
        names, found = state_rows(self._states, operator)
        state = self._states.state(operator)
        fields = [StructField(column.name, column.data_type) for column in state.columns]
        given = list(rows)
        if given and all(isinstance(row, Mapping) for row in given):
            named = [i for i, name in enumerate(names) if any(name in row for row in given)]
            unknown = {name for row in given for name in row} - set(names)
            if not unknown:
                names, fields = [names[i] for i in named], [fields[i] for i in named]
                found = [[row[i] for i in named] for row in found]
        self._steps.append(f"expect {len(given)} rows of state of operator {operator}")
        wanted = self._plain(given, fields, f"the state of operator {operator}")
        self._compare(wanted, found, names, ordered=False)
        return self

    # ------------------------------------------------------------------------------- looking into

    @property
    def watermark(self) -> str:
        """The watermark that the next batch runs under, as `2026-01-31T10:00:00.000Z`."""
        return timestamp_text(self._handle.watermark_ms)

    @property
    def handle(self) -> StreamingQuery:
        """The running query: `last_progress`, `recent_progress`, `status`."""
        return self._handle

    def state(self, operator: int = 0) -> list[dict[str, Any]]:
        """The rows that a stateful operator keeps: by the names of key and value columns."""
        names, rows = state_rows(self._states, operator)
        return [dict(zip(names, row, strict=True)) for row in rows]

    def explain(self, mode: str = "simple") -> str:
        """The query's plan; see `Query.explain`."""
        return self._query.explain(mode)

    def close(self) -> None:
        """Stop the query and delete its checkpoint."""
        self._handle.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    # ------------------------------------------------------------------------------------- inside

    def _configured(self, query: Query) -> Query:
        return query.with_conf(Conf({**SCENARIO_CONF, **query.conf.settings, **self._settings}))

    @property
    def _zone(self) -> ZoneInfo:
        return ZoneInfo(self._query.conf.time_zone)

    @property
    def _states(self) -> StoredStates:
        return StoredStates.open(str(self._folder / "checkpoint"))

    @cached_property
    def _catalog(self) -> Mapping[str, Source]:
        return self._query.catalog

    @property
    def _output(self) -> list[StructField]:
        output = self._query.execution.analyzed.output
        return [StructField(a.name, a.data_type) for a in output]

    def _stream(self, name: str) -> MemorySource:
        if name in self._sources:
            return self._sources[name]
        raise DescriptionError(
            "STATEPLAN_SOURCE_MISSING",
            f"Rows cannot be added to '{name}': the query reads no stream of that name.",
            hint=f"It reads {', '.join(self._sources) or 'none'}.",
        )

    def _start(self) -> StreamingQuery:
        execution = self._query.execution
        for name in stream_names(execution.checked):
            self._sources.setdefault(name, MemorySource(self._catalog[name].schema))
        self._caught.types = [field.data_type for field in self._output]
        return start(
            self._session,
            execution,
            sources=self._sources,
            tables=self._tables,
            sink=self._caught,
            trigger=MANUAL,
            checkpoint=self._folder / "checkpoint",
            name=self._query.description.name,
            tasks=self._tasks,
        )

    def _lay_tables(self, given: dict[str, Any]) -> None:
        """Take the rows of tables; those that the query reads from files stay there."""
        for name, source in self._catalog.items():
            if source.streaming:
                continue
            described = self._query.sources[name].rows
            if name not in given and described is None:
                self._tables[name] = self._query.table(name)
                continue
            rows = given.pop(name, described)
            read = read_rows(rows, source.schema.fields, self._zone, f"the table '{name}'")
            self._tables[name] = ValuesTable(read, source.schema)
        for name in given:
            raise DescriptionError(
                "STATEPLAN_SOURCE_MISSING",
                f"There are rows for a table '{name}', which the query does not have.",
                hint=f"Its tables are {', '.join(self._tables) or 'none'}: sources with "
                "'static: true'.",
            )

    def _plain(self, rows: Any, fields: Sequence[StructField], what: str) -> list[Any]:
        read = read_rows(rows, fields, self._zone, what)
        return [
            [plain(value, field.data_type) for value, field in zip(row, fields, strict=True)]
            for row in read
        ]

    def _emitted(self, first: int) -> list[Any]:
        ran = range(first, self._handle.next_batch)
        return [row for number in ran for row in self._caught.rows.get(number, [])]

    def _again_after_crash(self, batch: int) -> None:
        __tracebackhide__ = True
        before = self._caught.rows[batch]
        self._handle = self._start()
        self._handle.process_all_available()
        missing, unexpected = unmatched(before, self._caught.rows[batch])
        if missing or unexpected:
            lines = side_by_side(before, self._caught.rows[batch])
            raise self._failure([f"batch {batch} gave other rows when it ran again", *lines])

    def _compare(
        self, wanted: list[Any], found: list[Any], names: Sequence[str], ordered: bool
    ) -> None:
        __tracebackhide__ = True
        equal = (
            len(wanted) == len(found)
            and all(not any(unmatched([w], [f])) for w, f in zip(wanted, found, strict=True))
            if ordered
            else not any(unmatched(wanted, found))
        )
        if not equal:
            lines = side_by_side(wanted, found, ordered=ordered)
            raise self._failure([f"columns: {as_text(list(names))}", *lines])

    def _failure(self, lines: Sequence[str]) -> AssertionError:
        steps = arrowed(self._steps, len(self._steps) - 1)
        state = state_text(str(self._folder / "checkpoint"))
        plan = ["plan:", *(f"  {line}" for line in self.explain().splitlines())]
        return AssertionError("\n".join(["", *steps, *lines, *state, *plan]))

    def _with_steps(self, error: StateplanError) -> StateplanError:
        for line in arrowed(self._steps, len(self._steps) - 1):
            error.add_note(line)
        return error
