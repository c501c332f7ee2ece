"""A streaming query driven step by step: rows in, batches, watermark and clock, restarts."""

from __future__ import annotations

import datetime as dt
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from ...physical.basic import EventTimeWatermarkExec
from ...planner.described_sources import described_sources
from ...planner.model.catalog import Source
from ...planner.model.errors import DescriptionError, StateplanError
from ...planner.model.plans.query_plan import LogicalPlan
from ...planner.model.schemas.types import TIMESTAMP, StructField
from ...planner.model.settings.conf import Conf
from ...planner.model.text.time_zones import zone
from ...planner.query import Query
from ..comparison import unmatched
from ..engines.opening import open_session
from ..given import check_names, described_table, source_of
from ..inspection.stored import StoredStates
from ..progress import clock_ms, timestamp_text
from ..query import StreamingQuery
from ..rows import read_rows
from ..scenario_run import SCENARIO_CONF, CaughtRows, place_in_memory
from ..sources import MemorySource
from ..sources.tables import Table
from ..streaming import StartRequest, start, stream_names
from ..triggers import MANUAL
from .report import arrowed, side_by_side, state_text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Row = tuple[Any, ...]


class SteppedQuery:
    """A query on an engine, driven by hand; batches run in the caller's thread.

    Rows of sources live in this object, the checkpoint in a directory of its own that goes with
    `close` (or at the end of a `with` block). Rows that come out have the values of scenario files:
    timestamps are text such as `2026-01-31T10:00:00Z`, structs mappings.

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
        clock: the time that stands still until `advance_clock`: a datetime, or text; None: now.

    Raises:
        StateplanError: the query cannot be planned or started.
    """

    def __init__(
        self,
        query: Query | str | LogicalPlan | Callable[..., DataFrame],
        sources: Mapping[str, Any] | None = None,
        *,
        output_mode: str = "append",
        conf: Mapping[str, object] | None = None,
        tables: Mapping[str, Any] | None = None,
        engine: str = "auto",
        spark: SparkSession | None = None,
        tasks: int | None = None,
        ordered: bool = False,
        clock: Any = None,
    ) -> None:
        if not isinstance(query, Query):
            described = described_sources(sources)
            query = Query(query, sources=described, output_mode=output_mode)
        self._settings = Conf.of(conf).settings
        self._tasks, self._ordered = tasks, ordered
        self._query = self._configured(query)
        self._session, self.engine = open_session(engine, "test", spark=spark)
        self._folder = Path(tempfile.mkdtemp(prefix="stateplan-test-", dir=place_in_memory()))
        self._sources: dict[str, MemorySource] = {}
        self._clock_ms = None if clock is None else self._instant_ms(clock)
        self._caught = CaughtRows((), ordered)
        self._steps: list[str] = []
        self._checked = 0  # the first batch that no `expect` has seen
        try:
            self._tables = self._tables_of(tables or {})
            self._handle = self._start()
        except BaseException:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ------------------------------------------------------------------------------------- steps

    def add(self, source: str, rows: Any) -> Self:
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
        moment = self._instant_ms(to)
        self._steps.append(f"advance the watermark to {timestamp_text(moment)}")
        self._handle.advance_watermark(moment)
        return self.run()

    def advance_clock(self, to: Any) -> list[Row]:
        """Set the clock, of which `current_timestamp()` and timers know, and run what is due.

        Args:
            to: a datetime, or text; or a timedelta from the clock's time.

        Raises:
            DescriptionError: it is no time, or the test was made without a clock.
            StateplanError: a batch failed.
        """
        if self._clock_ms is None:
            raise DescriptionError(
                "STATEPLAN_NO_CLOCK",
                f"The clock cannot be set to {to}: the test runs by the real one.",
                hint="Make the test with one, such as clock='2026-01-01 00:00'.",
            )
        if isinstance(to, dt.timedelta):
            self._clock_ms += to // dt.timedelta(milliseconds=1)
        else:
            self._clock_ms = self._instant_ms(to)
        self._steps.append(f"set the clock to {timestamp_text(self._clock_ms)}")
        return self.run()

    def restart(self, query: Query | str | Callable[..., DataFrame] | None = None) -> Self:
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

    # ------------------------------------------------------------------------------- looking into

    @property
    def watermark(self) -> str:
        """The watermark that the next batch runs under, as `2026-01-31T10:00:00.000Z`."""
        return timestamp_text(self._handle.watermark_ms)

    @property
    def handle(self) -> StreamingQuery:
        """The running query: `last_progress`, `recent_progress`, `status`."""
        return self._handle

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

    def _instant_ms(self, written: Any) -> int:
        field = StructField("time", TIMESTAMP)
        ((moment,),) = read_rows([(written,)], [field], self._zone, "the test")
        return int((moment - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) / dt.timedelta(milliseconds=1))

    def _now_ms(self) -> int:
        return clock_ms() if self._clock_ms is None else self._clock_ms

    @property
    def _zone(self) -> dt.tzinfo:
        return zone(self._query.conf.time_zone)

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
        request = StartRequest(
            execution=execution,
            sources=self._sources,
            tables=self._tables,
            sink=self._caught,
            trigger=MANUAL,
            checkpoint=self._folder / "checkpoint",
            name=self._query.description.name,
            tasks=self._tasks,
            now_ms=self._now_ms,
        )
        return start(self._session, request)

    def _tables_of(self, given: Mapping[str, Any]) -> dict[str, Table]:
        """The tables: of rows, or as the query reads them."""
        static = {name: known for name, known in self._catalog.items() if not known.streaming}
        check_names(given, static)
        found: dict[str, Any] = {}
        for name, known in static.items():
            rows = given.get(name, self._query.sources[name].rows)
            if rows is None:
                found[name] = described_table(self._query.sources[name], self._query.path)
            else:
                found[name] = source_of(name, rows, known, self._query.conf.time_zone)
        return found

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

    def _failure(self, lines: Sequence[str]) -> AssertionError:
        steps = arrowed(self._steps, len(self._steps) - 1)
        state = state_text(str(self._folder / "checkpoint"))
        plan = ["plan:", *(f"  {line}" for line in self.explain().splitlines())]
        return AssertionError("\n".join(["", *steps, *lines, *state, *plan]))

    def _with_steps(self, error: StateplanError) -> StateplanError:
        for line in arrowed(self._steps, len(self._steps) - 1):
            error.add_note(line)
        return error
