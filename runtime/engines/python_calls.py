"""Calls of the user's Python functions without state, by PySpark's own worker code in this process.

PySpark's worker reads functions and Arrow batches from a stream, and writes Arrow batches to
another; here both are in memory. So values become Python's, and results Arrow's, as natively.
Functions that natively get pickled rows are called here, with what the JVM would make of a value.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
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
class PythonCalls:
    """Calls that run together.

    Attributes:
        kind: PySpark's number (PythonEvalType) for the way in which functions get their rows.
        calls: each gives a column; of a function over partitions there is one, which gives rows.
        arguments: which columns of the rows they get, in PySpark's order.
        schema: those, a StructType as JSON.
        declared: the types of what they give, as Spark writes them.
        output: its Arrow schema.
        over_partitions: whether the rows are one column of structs on their way, back too.
        settings: the query's, by Spark's names; the session's time zone among them.
    """

    kind: int
    calls: tuple[PythonCall, ...]
    arguments: tuple[int, ...]
    schema: str
    declared: tuple[str, ...]
    output: Any
    over_partitions: bool
    settings: Mapping[str, str] = field(default_factory=dict)

    def rows(self, batches: Iterable[Any]) -> Iterator[Any]:
        """The rows of a partition with the columns that the calls give; or what `results` gives.

        Raises:
            KernelError: as `results`.
        """
        if self.over_partitions:
            yield from self.results(batches)
            return
        given = [batch for batch in batches if batch.num_rows]
        if not given:
            return
        rows, made = concat(given), concat(list(self.results(given)))
        columns, fields = [*rows.columns, *made.columns], [*rows.schema, *made.schema]
        yield columns_of(columns, pa.schema(fields), rows.num_rows)

    def results(self, rows: Iterable[Any]) -> Iterator[Any]:
        """What the calls make of a partition.

        Args:
            rows: record batches, of which they get some columns.

        Yields:
            record batches: a column a call, a row for each row; or what a function over partitions
            gives.

        Raises:
            KernelError: a function fails (`PYTHON_EXCEPTION`), or gives another type than it was
                declared with (`ARROW_TYPE_MISMATCH`).
        """
        from pyspark.serializers import CPickleSerializer
        from pyspark.util import PythonEvalType
        from pyspark.worker import EvalConf, RunnerConf, read_udfs

        if self.kind == PythonEvalType.SQL_BATCHED_UDF:
            yield from self._results_of_pickled(rows)
            return
        runner, evaluation = RunnerConf(), EvalConf()
        runner.load(_texts(self.settings))
        evaluation.load(_texts({"input_type": self.schema}))
        with users_code():
            run, _, reader, writer = read_udfs(  # type: ignore[no-untyped-call]
                CPickleSerializer(), self._functions(), self.kind, runner, evaluation
            )
            made = BytesIO()
            writer.dump_stream(run(0, reader.load_stream(self._stream(rows))), made)
        if made.getbuffer().nbytes <= _INT.size:
            return
        made.seek(_INT.size)  # behind the mark that a stream begins
        for batch in pa.ipc.open_stream(made):
            yield self._checked(_fields(batch) if self.over_partitions else batch)

    def _results_of_pickled(self, rows: Iterable[Any]) -> Iterator[Any]:
        """As `results`, of functions that natively get and give pickled values."""
        from pyspark.sql.types import StructType

        types = [f.dataType for f in StructType.fromJson(json.loads(self.schema)).fields]
        functions = [call.of_values() for call in self.calls]
        for batch in rows:
            given = [
                [kind.fromInternal(value) for value in from_arrow(batch.column(place), kind)]
                for place, kind in zip(self.arguments, types, strict=True)
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
        written.write(_INT.pack(len(self.calls)))
        for call in self.calls:
            written.write(_INT.pack(len(call.places)))
            for place, name in zip(call.places, call.names, strict=True):
                written.write(_INT.pack(place))
                written.write(_FLAG.pack(bool(name)))
                if name:
                    _write_text(written, name)
            written.write(_INT.pack(len(call.commands)))
            for command in call.commands:
                written.write(_INT.pack(len(command)))
                written.write(command)
            written.write(_LONG.pack(0))  # names the call for profilers
        written.seek(0)
        return written

    def _stream(self, rows: Iterable[Any]) -> BytesIO:
        """The arguments as an Arrow stream, in batches as long as Spark makes them."""
        most = int(self.settings.get(_MOST_ROWS, _USUAL_MOST_ROWS))
        sent = self._sent
        parts = pa.schema([pa.field("in_struct", pa.struct(list(sent)))])
        stream = BytesIO()
        with pa.ipc.new_stream(stream, parts if self.over_partitions else sent) as writer:
            batches = [batch for batch in rows if batch.num_rows]
            whole = concat(batches) if batches else pa.record_batch([], names=[])
            for start in range(0, whole.num_rows, most if most > 0 else max(1, whole.num_rows)):
                given = self._given(whole.slice(start, most if most > 0 else None), sent)
                if self.over_partitions:
                    columns = pa.StructArray.from_arrays(given.columns, fields=list(sent))
                    given = pa.RecordBatch.from_arrays([columns], schema=parts)
                writer.write_batch(given)
        stream.seek(0)
        return stream

    @property
    def _sent(self) -> Any:
        """The Arrow schema in which Spark sends the arguments."""
        from pyspark.sql.pandas.types import to_arrow_schema
        from pyspark.sql.types import StructType

        schema = StructType.fromJson(json.loads(self.schema))
        return to_arrow_schema(schema, timezone=self.settings[TIME_ZONE])

    def _given(self, batch: Any, sent: Any) -> Any:
        columns = [
            _under(batch.column(place), wanted.type)
            for place, wanted in zip(self.arguments, sent, strict=True)
        ]
        return columns_of(columns, sent, batch.num_rows)


_INT, _LONG, _FLAG = struct.Struct("!i"), struct.Struct("!q"), struct.Struct("!?")


def _texts(settings: Mapping[str, str]) -> BytesIO:
    """Settings in the worker's protocol."""
    written = BytesIO()
    written.write(_INT.pack(len(settings)))
    for name, value in settings.items():
        _write_text(written, name)
        _write_text(written, value)
    written.seek(0)
    return written


def _write_text(stream: BytesIO, text: str) -> None:
    encoded = text.encode()
    stream.write(_INT.pack(len(encoded)))
    stream.write(encoded)


def _under(column: Any, wanted: Any) -> Any:
    return column if column.type == wanted else column.cast(wanted)


def _fields(batch: Any) -> Any:
    """The rows of a batch whose one column has them as structs."""
    column = batch.column(0)
    return pa.RecordBatch.from_arrays(column.flatten(), names=[f.name for f in column.type])
