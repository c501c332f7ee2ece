"""A user's code for each row: PySpark's `foreach`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ...planner.model.errors import DescriptionError
from ..kernels.errors import KernelError
from .base import Sink
from .tasks import Work, in_tasks

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class ForeachSink(Sink):
    """Calls a function with each row, or an object's `open`, `process` and `close`; in tasks.

    As in Spark `open(partition_id, batch_id)` says by True whether the partition's rows are to be
    processed, and `close(error)` is called in any case. A batch or a task that runs again calls
    them again.

    Args:
        writer: a function of a Row; or an object with `process(row)`, and maybe the others; or
            either as PySpark's client pickles it. It travels to the tasks.

    Raises:
        DescriptionError: it is neither.
    """

    one_action = True
    in_arrow = True

    def __init__(self, writer: Any) -> None:
        self._writer = writer
        if isinstance(writer, PickledWriter):
            return  # PySpark's client has checked it
        process = getattr(writer, "process", None)
        if not callable(process) and not (callable(writer) and not isinstance(writer, type)):
            raise DescriptionError(
                "STATEPLAN_BAD_SINK",
                f"{writer!r:.80} is no foreach writer: it has no method 'process' and is no "
                "function.",
                hint="Give a function of a row, or an object with process(row).",
            )
        for name in ("open", "close"):
            if callable(process) and not callable(getattr(writer, name, print)):
                raise DescriptionError(
                    "STATEPLAN_BAD_SINK",
                    f"The attribute '{name}' of the foreach writer is no method.",
                    hint=f"Make '{name}' a method, or remove it.",
                )

    @property
    def description(self) -> str:
        return "ForeachWriterTable"

    def write(self, frame: DataFrame, batch_id: int) -> int | None:
        work = _processing(self._writer, frame.schema, batch_id)
        return sum(int(rows) for rows in in_tasks(frame, work))


def _processing(writer: Any, schema: Any, batch_id: int) -> Work:
    def work(partition: int, batches: Iterator[Any]) -> Iterator[bytes]:
        import pyarrow as pa
        from pyspark.sql.conversion import ArrowTableToRowsConversion
        from pyspark.sql.pandas.types import to_arrow_schema

        kind = to_arrow_schema(schema, timezone="UTC")
        users = writer.loaded() if isinstance(writer, PickledWriter) else writer
        open_ = getattr(users, "open", None)
        close = getattr(users, "close", None)
        process = getattr(users, "process", users)
        rows, error = 0, None
        opened = open_(partition, batch_id) if open_ is not None else True
        try:
            for batch in batches:
                rows += batch.num_rows
                if opened:
                    table = pa.Table.from_batches([batch]).rename_columns(kind.names).cast(kind)
                    for row in ArrowTableToRowsConversion.convert(table, schema):
                        process(row)
        except Exception as raised:
            error = raised
            raise
        finally:
            if close is not None:
                close(error)
        yield str(rows).encode()

    def reported(partition: int, batches: Iterator[Any]) -> Iterator[bytes]:
        try:
            yield from work(partition, batches)
        except (Exception, SystemExit) as error:
            reason = f"{type(error).__name__}: {error}"
            raise KernelError.of("FOREACH_USER_FUNCTION_ERROR", reason=reason) from error

    return reported


class PickledWriter:
    """A writer of foreach as PySpark's client sends it, loaded where it is called.

    The client sends a function of a partition's rows; what it was made of stands in its closure.

    Args:
        command: the pickled function and serializers.
    """

    def __init__(self, command: bytes) -> None:
        self._command = command

    def loaded(self) -> Any:
        """The user's own function of a row, or object."""
        from pyspark.serializers import CloudPickleSerializer

        function, *_ = CloudPickleSerializer().loads(self._command)  # type: ignore[no-untyped-call]
        names = function.__code__.co_freevars
        return dict(zip(names, function.__closure__ or (), strict=True))["f"].cell_contents
