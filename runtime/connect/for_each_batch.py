"""A client's foreachBatch function, which runs beside its stream.

As in Spark it runs in a Python process of its own, as long as its query. It
is a client of the endpoint, on the session that the batch's DataFrame belongs to.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, Any

from pyspark.sql.connect import proto
from pyspark.sql.connect.plan import Checkpoint

from ...planner.model.errors import RuntimeFailure
from ...planner.model.output_modes import OutputMode
from ..failures import UsersFunctionFailed
from ..sinks import Sink

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from .client_session import ClientSession

_WORKER = "stateplan.runtime.connect.batch_worker"


class BatchFunctionSink(Sink):
    """Hands each batch to a function in a process of its own.

    The batch is computed once, and kept by the engine until the function has returned.

    Args:
        session: the client's.
        command: the pickled function.
        url: where the process reaches the endpoint.
    """

    one_action = True
    calls_function = True

    def __init__(self, session: ClientSession, command: bytes, url: str) -> None:
        self._session = session
        self._command = command
        self._url = url
        self._process: subprocess.Popen[str] | None = None
        self._answers: IO[str] | None = None

    @property
    def description(self) -> str:
        return "ForeachBatchSink"

    def attach(self, query_id: str, next_batch: int, output_mode: OutputMode) -> None:
        """Start the process.

        Raises:
            RuntimeFailure: the function cannot be loaded there.
        """
        ours, theirs = os.pipe()
        with tempfile.NamedTemporaryFile(suffix=".pickle", delete=False) as function:
            function.write(self._command)
        variables = {**os.environ, **self._session.environment, "PYTHONUNBUFFERED": "1"}
        variables.pop("SPARK_REMOTE", None)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-m", _WORKER, str(theirs), self._url, self._session.id],
                stdin=subprocess.PIPE,
                text=True,
                env=variables,
                pass_fds=[theirs],
            )
        finally:
            os.close(theirs)
        self._answers = os.fdopen(ours, encoding="utf-8")
        try:
            answer = self._ask({"function": function.name, "user": self._session.user})
        finally:
            os.unlink(function.name)
        if "error" in answer:
            self.stop()
            raise RuntimeFailure.of(
                "STREAMING_PYTHON_RUNNER_INITIALIZATION_FAILURE",
                resFromPython="-2",
                msg=f"{answer['error']}\n{answer['trace']}",
                hint="What the function needs must be importable where the endpoint runs, or "
                "pickled with it.",
            )

    def write(self, frame: DataFrame, batch_id: int) -> int | None:
        with self._computed(frame) as (owner, relation_id):
            answer = self._ask({"session": owner, "frame": relation_id, "batch": batch_id})
        if "error" in answer:
            raise UsersFunctionFailed(answer["error"], answer["trace"])
        return None

    def stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            if process.stdin is not None:
                with suppress(OSError):  # what it did not read any more
                    process.stdin.close()
        if self._answers is not None:
            self._answers.close()
            self._answers = None

    @contextmanager
    def _computed(self, frame: DataFrame) -> Iterator[tuple[str, str]]:
        """A batch's rows, kept by the engine: the session that has them, and their id there."""
        if self._session.backend.embedded:
            relation_id = str(uuid.uuid4())
            self._session.backend.rows[relation_id] = rows_relation(frame.toArrow())
            try:
                yield self._session.id, relation_id
            finally:
                del self._session.backend.rows[relation_id]
            return
        sent: Any = frame
        client = sent.sparkSession.client
        command = Checkpoint(child=sent._plan, local=True, eager=True).command(client)
        _, properties, _ = client.execute_command(command, sent._plan.observations)
        kept: Any = properties["checkpoint_command_result"]  # until it goes, the engine has it
        yield sent.sparkSession.session_id, kept._plan._relation_id

    def _ask(self, question: dict[str, object]) -> dict[str, str]:
        process, answers = self._process, self._answers
        if process is None or answers is None or process.stdin is None:
            return _gone("it was stopped")
        try:
            process.stdin.write(json.dumps(question) + "\n")
            process.stdin.flush()
            line = answers.readline()
        except (OSError, ValueError) as error:
            return _gone(str(error))
        if not line:
            return _gone(f"it ended with status {process.wait()}")
        found: dict[str, str] = json.loads(line)
        return found


def rows_relation(rows: Any) -> Any:
    """An Arrow table as a relation of the protocol.

    A batch is written in any case: the engine takes no relation of a schema alone.
    """
    import pyarrow as pa

    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, rows.schema) as stream:
        for batch in rows.to_batches() or [pa.RecordBatch.from_pylist([], rows.schema)]:
            stream.write_batch(batch)
    local = proto.LocalRelation(data=out.getvalue().to_pybytes())
    return proto.Relation(local_relation=local)


def _gone(why: str) -> dict[str, str]:
    return {"error": f"The process of the function is gone: {why}", "trace": ""}
