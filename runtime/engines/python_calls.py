"""Calls of the user's Python functions without state, by PySpark's own worker code in this process.

PySpark's worker reads functions and Arrow batches from a stream, and writes Arrow batches to
another; here both are in memory. So values become Python's, and results Arrow's, as natively.
Functions that natively get pickled rows are called here, with what the JVM would make of a value.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from typing import Any

import pyarrow as pa

from ..kernels.errors import KernelError
from ..kernels.user_state.functions import users_code
from ..kernels.user_state.values import from_arrow, stored, to_arrow
from ..state.rows import columns_of, concat

TIME_ZONE = "spark.sql.session.timeZone"
_MOST_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"
_USUAL_MOST_ROWS = 10_000


@dataclass(frozen=True, kw_only=True)
class PythonCall:
    """A call of a function, or of several one after the other.

    Attributes:
        commands: the functions as PySpark's client sends them, the innermost first.
        places: which columns of the arguments it gets.
        names: what it gets them by; empty for one by its position.
    """

    commands: tuple[bytes, ...]
    places: tuple[int, ...]
    names: tuple[str, ...]

    def of_values(self) -> tuple[Callable[..., Any], Any]:
        """The call as one function of values by their positions, and the type it is declared with.

        Raises:
            KernelError: a function cannot be unpickled here (`PYTHON_EXCEPTION`).
        """
        from pyspark.serializers import CloudPickleSerializer
        from pyspark.util import fail_on_stopiteration

        with users_code():
            loaded = [CloudPickleSerializer().loads(command) for command in self.commands]  # type: ignore[no-untyped-call]
        by_place = self.names.count("")
        by_name = self.names[by_place:]

        def call(*values: Any) -> Any:
            named = dict(zip(by_name, values[by_place:], strict=True))
            result = loaded[0][0](*values[:by_place], **named)
            for function, _ in loaded[1:]:
                result = function(result)
            return result

        return fail_on_stopiteration(call), loaded[-1][1]


@dataclass(frozen=True, kw_only=True)
class GivenColumns:
    """Columns of rows as Spark sends them to PySpark's worker.

    Attributes:
        places: which columns, in PySpark's order.
        schema: those, a StructType as JSON.
    """

    places: tuple[int, ...]
    schema: str

    def of(self, rows: Any | None, zone: str) -> Any:
        """Those of a record batch, None for no rows; `zone` is the session's time zone."""
        from pyspark.sql.pandas.types import to_arrow_schema
        from pyspark.sql.types import StructType

        sent = to_arrow_schema(StructType.fromJson(json.loads(self.schema)), timezone=zone)
        if rows is None:
            return pa.RecordBatch.from_pylist([], schema=sent)
        columns = [
            _under(rows.column(place), wanted.type)
            for place, wanted in zip(self.places, sent, strict=True)
        ]
        return columns_of(columns, sent, rows.num_rows)


@dataclass(frozen=True, kw_only=True)
class WorkerCalls:
    """What PySpark's worker is asked for.

    Attributes:
        kind: PySpark's number (PythonEvalType) for the way in which functions get their rows.
        calls: each gives a column; of a function over partitions or groups there is one, which
            gives rows.
        declared: the types of what they give, as Spark writes them.
        output: its Arrow schema.
        settings: the query's, by Spark's names; the session's time zone among them.
    """

    kind: int
    calls: tuple[PythonCall, ...]
    declared: tuple[str, ...]
    output: Any
    settings: Mapping[str, str]

    @property
    def zone(self) -> str:
        """The session's time zone."""
        return self.settings[TIME_ZONE]

    @cached_property
    def longest(self) -> int | None:
        """How many rows Spark sends in a batch at most; None: all."""
        most = int(self.settings.get(_MOST_ROWS, _USUAL_MOST_ROWS))
        return most if most > 0 else None

    def worked(self, stream: BytesIO, input_type: str, *, rows: bool) -> Iterator[Any]:
        """What the worker makes of a stream in its protocol.

        Args:
            stream: the arguments, as functions of this kind get them.
            input_type: what they are, a StructType as JSON.
            rows: whether functions give rows, one column of structs on their way, not columns.

        Raises:
            KernelError: a function fails (`PYTHON_EXCEPTION`), or gives another type than it was
                declared with (`ARROW_TYPE_MISMATCH`).
        """
        from pyspark.serializers import CPickleSerializer
        from pyspark.worker import EvalConf, RunnerConf, read_udfs

        runner, evaluation = RunnerConf(), EvalConf()
        runner.load(_texts(self.settings))
        evaluation.load(_texts({"input_type": input_type}))
        with users_code():
            run, _, reader, writer = read_udfs(  # type: ignore[no-untyped-call]
                CPickleSerializer(), self._functions(), self.kind, runner, evaluation
            )
            made = BytesIO()
            writer.dump_stream(run(0, reader.load_stream(stream)), made)
        if made.getbuffer().nbytes <= INT.size:
            return
        made.seek(INT.size)  # behind the mark that a stream begins
        for batch in pa.ipc.open_stream(made):
            yield self._checked(_fields(batch) if rows else batch)

    def _checked(self, batch: Any) -> Any:
        """Results under the types that were declared."""
        from pyspark.sql.pandas.types import from_arrow_type

        given = [
            from_arrow_type(f.type, prefer_timestamp_ntz=True).simpleString() for f in batch.schema
        ]
        if given != list(self.declared):
            raise KernelError.of(
                "ARROW_TYPE_MISMATCH",
                operation="a Python function",
                outputTypes=", ".join(self.declared),
                actualDataTypes=", ".join(given),
            )
        columns = [_under(c, f.type) for c, f in zip(batch.columns, self.output, strict=True)]
        return columns_of(columns, self.output, batch.num_rows)

    def _functions(self) -> BytesIO:
        """The calls in the worker's protocol."""
        written = BytesIO()
        written.write(INT.pack(len(self.calls)))
        for call in self.calls:
            written.write(INT.pack(len(call.places)))
            for place, name in zip(call.places, call.names, strict=True):
                written.write(INT.pack(place))
                written.write(_FLAG.pack(bool(name)))
                if name:
                    _write_text(written, name)
            written.write(INT.pack(len(call.commands)))
            for command in call.commands:
                written.write(INT.pack(len(command)))
                written.write(command)
            written.write(_LONG.pack(0))  # names the call for profilers
        written.seek(0)
        return written


@dataclass(frozen=True, kw_only=True)
class PythonCalls(WorkerCalls):
    """Calls that run together over rows as they come.

    Attributes:
        given: the columns that they get.
        names: those of the columns that pass, if functions give columns.
        over_partitions: whether the one function gets partitions, as structs on their way.
    """

    given: GivenColumns
    names: tuple[str, ...]
    over_partitions: bool

    def rows(self, batches: Iterable[Any]) -> Iterator[Any]:
        """The rows of a partition with the columns that the calls give; or what `results` gives.

        Raises:
            KernelError: as `results`.
        """
        if self.over_partitions:
            yield from self.results(batches)
            return
        rows = whole_of(batches)
        if rows is None:
            return
        made = concat(list(self.results([rows])))
        columns, names = [*rows.columns, *made.columns], [*self.names, *self.output.names]
        yield pa.RecordBatch.from_arrays(columns, names=names)

    def results(self, rows: Iterable[Any]) -> Iterator[Any]:
        """What the calls make of a partition.

        Args:
            rows: record batches, of which they get some columns.

        Returns:
            record batches: a column a call, a row for each row; or what a function over partitions
            gives.

        Raises:
            KernelError: as `worked`.
        """
        from pyspark.util import PythonEvalType

        if self.kind == PythonEvalType.SQL_BATCHED_UDF:
            return self._results_of_pickled(rows)
        return self.worked(self._stream(rows), self.given.schema, rows=self.over_partitions)

    def _results_of_pickled(self, rows: Iterable[Any]) -> Iterator[Any]:
        """As `results`, of functions that natively get and give pickled values."""
        from pyspark.sql.types import StructType

        types = [f.dataType for f in StructType.fromJson(json.loads(self.given.schema)).fields]
        functions = [call.of_values() for call in self.calls]
        for batch in rows:
            given = [
                [kind.fromInternal(value) for value in from_arrow(batch.column(place), kind)]
                for place, kind in zip(self.given.places, types, strict=True)
            ]
            columns = []
            for call, (function, kind), wanted in zip(
                self.calls, functions, self.output, strict=True
            ):
                arguments = [given[place] for place in call.places]
                with users_code():
                    values = [
                        stored(kind.toInternal(function(*(a[row] for a in arguments))), kind)
                        for row in range(batch.num_rows)
                    ]
                columns.append(_under(to_arrow(values, kind), wanted.type))
            yield columns_of(columns, self.output, batch.num_rows)

    def _stream(self, rows: Iterable[Any]) -> BytesIO:
        """The arguments as an Arrow stream, in batches as long as Spark makes them."""
        given = self.given.of(whole_of(rows), self.zone)
        if self.over_partitions:
            given = in_structs(given)
        stream = BytesIO()
        write_rows(stream, given, self.longest)
        stream.seek(0)
        return stream


INT, _LONG, _FLAG = struct.Struct("!i"), struct.Struct("!q"), struct.Struct("!?")


def whole_of(batches: Iterable[Any]) -> Any | None:
    """All rows as one record batch; None: there are none."""
    given = [batch for batch in batches if batch.num_rows]
    return concat(given) if given else None


def in_structs(batch: Any) -> Any:
    """Rows as one column of structs."""
    columns = pa.StructArray.from_arrays(batch.columns, fields=list(batch.schema))
    return pa.RecordBatch.from_arrays([columns], names=["struct"])


def write_rows(stream: BytesIO, rows: Any, longest: int | None, *, least: int = 0) -> None:
    """Write rows as an Arrow stream: at least so many batches, of so many rows at most."""
    with pa.ipc.new_stream(stream, rows.schema) as writer:
        for start in range(0, max(least, rows.num_rows), longest or max(1, rows.num_rows)):
            writer.write_batch(rows.slice(start, longest))


def _texts(settings: Mapping[str, str]) -> BytesIO:
    """Settings in the worker's protocol."""
    written = BytesIO()
    written.write(INT.pack(len(settings)))
    for name, value in settings.items():
        _write_text(written, name)
        _write_text(written, value)
    written.seek(0)
    return written


def _write_text(stream: BytesIO, text: str) -> None:
    encoded = text.encode()
    stream.write(INT.pack(len(encoded)))
    stream.write(encoded)


def _under(column: Any, wanted: Any) -> Any:
    return column if column.type == wanted else column.cast(wanted)


def _fields(batch: Any) -> Any:
    """The rows of a batch whose one column has them as structs."""
    column = batch.column(0)
    return pa.RecordBatch.from_arrays(column.flatten(), names=[f.name for f in column.type])
