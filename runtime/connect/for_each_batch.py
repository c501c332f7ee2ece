"""A client's foreachBatch function, which is called beside its stream.

It is a client of the endpoint on the session that started the stream, as Spark's server has it.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pyspark.sql.connect import proto
from pyspark.sql.connect.dataframe import DataFrame
from pyspark.sql.connect.plan import CachedRemoteRelation, Checkpoint

from ...planner.model.errors import RuntimeFailure
from ...planner.model.output_modes import OutputMode
from ..failures import UsersFunctionFailed
from ..sinks import Sink
from .batch_calls import Answer, BatchCalls, CallsOfProcess, CallsOfScript, number_of_function

if TYPE_CHECKING:
    from pyspark.sql import DataFrame as AnyDataFrame

    from .client_session import ClientSession


class BatchFunctionSink(Sink):
    """Hands each batch to a function: in a process of its own, or in that of the file being run.

    The batch is computed once, and kept by the engine until the function has returned.

    Args:
        session: the client's.
        command: the pickled function, or what stands for one of the file's.
        url: where the process reaches the endpoint.
    """

    one_action = True
    calls_function = True

    def __init__(self, session: ClientSession, command: bytes, url: str) -> None:
        self._session = session
        self._command = command
        self._url = url
        self._calls: BatchCalls | None = None
        self.in_arrow = session.backend.embedded

    @property
    def description(self) -> str:
        return "ForeachBatchSink"

    def attach(self, query_id: str, next_batch: int, output_mode: OutputMode) -> None:
        """Get the function ready.

        Raises:
            RuntimeFailure: it cannot be loaded there.
        """
        answer = self._loaded()
        if "error" in answer:
            self.stop()
            raise RuntimeFailure.of(
                "STREAMING_PYTHON_RUNNER_INITIALIZATION_FAILURE",
                resFromPython="-2",
                msg=f"{answer['error']}\n{answer['trace']}",
                hint="What the function needs must be importable where the endpoint runs, or "
                "pickled with it.",
            )

    def _loaded(self) -> Answer:
        session, number = self._session, number_of_function(self._command)
        if number is not None and session.backend.script is not None:
            script = CallsOfScript.connect(session.backend.script)
            self._calls = script
            return script.load(number)
        process = CallsOfProcess.start(self._url, session.id, session.environment)
        self._calls = process
        return process.load(self._command, session.user)

    def write(self, frame: AnyDataFrame, batch_id: int) -> int | None:
        assert self._calls is not None
        with self._computed(frame) as relation_id:
            answer = self._calls.ask({"frame": relation_id, "batch": batch_id})
        if "error" in answer:
            raise UsersFunctionFailed(answer["error"], answer["trace"])
        return None

    def stop(self) -> None:
        calls, self._calls = self._calls, None
        if calls is not None:
            calls.stop()

    @contextmanager
    def _computed(self, frame: AnyDataFrame) -> Iterator[str]:
        """A batch's rows, kept by the engine: their id in the client's session.

        Of that session are what the function reads besides, and what it joins them with.
        """
        relation_id = f"stateplan_{uuid.uuid4().hex}"
        with self._kept(frame, relation_id) as relation:
            self._session.backend.rows[relation_id] = relation
            try:
                yield relation_id
            finally:
                del self._session.backend.rows[relation_id]

    @contextmanager
    def _kept(self, frame: AnyDataFrame, name: str) -> Iterator[Any]:
        """A batch's rows, computed: a relation that every session of the engine can read."""
        if self._session.backend.embedded:
            yield rows_relation(frame.toArrow())
            return
        sent: Any = frame
        owner, client = sent.sparkSession, sent.sparkSession.client
        command = Checkpoint(child=sent._plan, local=True, eager=True).command(client)
        _, properties, _ = client.execute_command(command, sent._plan.observations)
        found: Any = properties["checkpoint_command_result"]
        # Until this goes, the engine has the rows.
        kept = DataFrame(CachedRemoteRelation(found._plan._relation_id, owner), owner)
        kept.createGlobalTempView(name)
        try:
            read = proto.Read(
                named_table=proto.Read.NamedTable(unparsed_identifier=f"global_temp.{name}")
            )
            yield proto.Relation(read=read)
        finally:
            owner.catalog.dropGlobalTempView(name)


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
