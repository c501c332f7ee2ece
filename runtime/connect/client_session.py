"""What the endpoint keeps of one client's session: its streams, views, functions and listeners."""

from __future__ import annotations

import json
import queue
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pyspark.sql.connect import proto
from pyspark.sql.streaming.listener import StreamingQueryListener

from ...planner.connect.places import Message
from ...planner.model.errors import RuntimeFailure, StateplanError
from ...planner.model.settings.conf import Conf
from .files_at_rest import FilesAtRest, Inferred
from .messages import may_stream, names_stream
from .reading import StreamReading
from .rest_reading import RestReading

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from ..query import StreamingQuery
    from .backend import Backend

_ENDED_KEPT = 100
_PROGRESS, _TERMINATED, _IDLE = (
    proto.StreamingQueryEventType.QUERY_PROGRESS_EVENT,
    proto.StreamingQueryEventType.QUERY_TERMINATED_EVENT,
    proto.StreamingQueryEventType.QUERY_IDLE_EVENT,
)
Event = tuple[int, str]
Bus = queue.SimpleQueue[Event | None]


class ClientSession:
    """One client's session.

    Args:
        backend: the engine.
        user: the client's user.
        id: the session's id.

    Attributes:
        views: temporary views that are streams, as relations, by name in small letters.
        view_columns: the columns of views that the engine has under other names (memory_view.py).
        ordered_views: the views that ask for an order of their rows, in small letters.
        warned: the warnings that have been printed: each is printed once.
        functions: functions for SQL text, as they were registered, by name.
        data_sources: data sources in Python by format.
        environment: variables for processes of the client's functions.
        starting: held while a stream starts, so that no two have the same name.
    """

    def __init__(self, backend: Backend, user: str, id: str) -> None:
        self.backend = backend
        self.user = user
        self.id = id
        self.views: dict[str, Message] = {}
        self.view_columns: dict[str, Sequence[str]] = {}
        self.ordered_views: set[str] = set()
        self.warned: set[str] = set()
        self.functions: dict[str, Message] = {}
        self.data_sources: dict[str, Any] = {}
        self.environment: dict[str, str] = {}
        self.starting = threading.RLock()
        self._changed = threading.Condition()
        self._queries: dict[str, StreamingQuery] = {}
        self._ended: deque[str] = deque()
        self._buses: list[Bus] = []
        self._files: list[FilesAtRest] = []
        self._inferred: Inferred = {}
        self._last_ended: StreamingQuery | None = None

    @cached_property
    def spark(self) -> SparkSession:
        """The client's own session on the engine."""
        return self.backend.session(self.user, self.id)

    def configure(self, settings: Mapping[str, str]) -> None:
        """Set what the session starts with."""
        for key, value in settings.items():
            self.spark.conf.set(key, value)

    @property
    def server_id(self) -> str:
        """The id that the engine gave itself for this session, which a client checks."""
        client: Any = self.spark.client
        return str(client._server_session_id or "")

    @property
    def conf(self) -> Conf:
        """The session's settings now."""
        return Conf(self._settings())

    def reading(self, *, at_rest: bool = False) -> StreamReading:
        """A front end for a stream that starts now, or for a query of rows at rest."""
        conf = self.conf
        kind = RestReading if at_rest else StreamReading
        return kind(
            self.spark,
            conf,
            views=dict(self.views),
            functions=dict(self.functions),
            data_sources=dict(self.data_sources),
            files=self.files_at_rest(conf) if self.backend.embedded else None,
        )

    def files_at_rest(self, conf: Conf) -> FilesAtRest:
        """What reads the files that the client of the embedded engine names."""
        return FilesAtRest(self.spark, conf, self._inferred)

    def keep_files(self, files: FilesAtRest) -> None:
        """Keep the rows of files that a view has as long as the session."""
        with self._changed:
            self._files.append(files)

    def reads_stream(self, relation: Message) -> bool:
        """Whether a relation is a stream, as far as the planner can tell.

        Raises:
            StateplanError: the planner refuses it, and it reads a stream.
        """
        if not self.views and not may_stream(relation):
            return False
        try:
            return self.reading().planned(relation).analyzed.is_streaming
        except StateplanError as error:
            only_queries = error.condition == "STATEPLAN_UNSUPPORTED_STATEMENT"
            if not only_queries and names_stream(relation, self.views):
                raise
            return False

    def _settings(self) -> dict[str, str]:
        """The session's settings, but for those that only a new application can have."""
        client: Any = self.spark.client
        everything: Any = proto.ConfigRequest.Operation()
        everything.get_all.SetInParent()
        found = {k: v for k, v in client.config(everything).pairs if k.startswith("spark.sql.")}
        if self.backend.embedded or not found:
            return found
        asked = proto.ConfigRequest.Operation(
            is_modifiable=proto.ConfigRequest.IsModifiable(keys=list(found))
        )
        changeable = dict(client.config(asked).pairs)
        return {key: value for key, value in found.items() if changeable[key] == "true"}

    # ------------------------------------------------------------------------------------ queries

    def add(self, query: StreamingQuery) -> None:
        """Take in a query that was started."""
        with self._changed:
            self._queries[query.run_id] = query

    def query(self, id: str, run_id: str) -> StreamingQuery:
        """A query that was started here.

        Raises:
            RuntimeFailure: there is none of these ids.
        """
        with self._changed:
            found = self._queries.get(run_id)
        if found is None or found.id != id:
            raise RuntimeFailure(
                "STATEPLAN_QUERY_NOT_FOUND",
                f"Streaming query {id} with run {run_id} is not found: it was not started in this "
                "session, or ended long ago.",
                hint="Ask in the session that started it.",
            )
        return found

    @property
    def active(self) -> list[StreamingQuery]:
        """The queries that run."""
        with self._changed:
            return [query for query in self._queries.values() if query.is_active]

    @property
    def last_ended(self) -> StreamingQuery | None:
        """The query that failed last since the last `reset_terminated`, else the first that ended.

        Who waits for any query gets a failure until it is reset, whatever ends later, as Spark's
        StreamingQueryManager has it.
        """
        return self._last_ended

    def reset_terminated(self) -> None:
        """Forget which queries ended."""
        with self._changed:
            self._last_ended = None

    def wait(self, seconds: float) -> None:
        """Wait until a query ends, at most so long."""
        with self._changed:
            if self._last_ended is None:
                self._changed.wait(seconds)

    def stop_queries(self) -> None:
        """Stop every query that runs."""
        for query in self.active:
            query.stop()

    def close(self) -> None:
        """The client has released its session: its queries end, as Spark ends them."""
        self.stop_queries()
        with self._changed:
            buses = list(self._buses)
            files, self._files = self._files, []
        for bus in buses:
            bus.put(None)
        for one in files:
            one.let_go()

    # ---------------------------------------------------------------------------------- listeners

    def open_bus(self) -> Bus:
        """A queue that gets the events of all queries; None ends it."""
        bus: Bus = queue.SimpleQueue()
        with self._changed:
            self._buses.append(bus)
        return bus

    def close_bus(self, bus: Bus) -> None:
        """No more events for that queue."""
        with self._changed:
            if bus in self._buses:
                self._buses.remove(bus)

    def end_buses(self) -> None:
        """The client's last listener is gone: the queues end, without what was not sent yet.

        PySpark removes a listener under the lock under which it hears of events, and waits there
        for the end of the queue: it would wait for ever if it got one more event.
        """
        with self._changed:
            ended, self._buses = self._buses, []
        for bus in ended:
            with suppress(queue.Empty):
                while True:
                    bus.get_nowait()
            bus.put(None)

    def send(self, kind: int, text: str) -> None:
        """An event for all listeners."""
        with self._changed:
            for bus in self._buses:
                bus.put((kind, text))

    def ended(self, run_id: str, *, failed: bool) -> None:
        """A query has ended; of those that have, the oldest are forgotten."""
        with self._changed:
            if failed or self._last_ended is None:
                self._last_ended = self._queries.get(run_id)
            self._ended.append(run_id)
            if len(self._ended) > _ENDED_KEPT:
                self._queries.pop(self._ended.popleft(), None)
            self._changed.notify_all()


class Reporter(StreamingQueryListener):
    """A query's listener that passes events on to its client's, as PySpark's own classes do.

    Attributes:
        started: the event of the query's start, as JSON.
    """

    def __init__(self, session: ClientSession) -> None:
        super().__init__()
        self._session = session
        self.started = ""

    def onQueryStarted(self, event: Any) -> None:
        self.started = json.dumps(
            {
                "id": str(event.id),
                "runId": str(event.runId),
                "name": event.name,
                "timestamp": event.timestamp,
            }
        )

    def onQueryProgress(self, event: Any) -> None:
        progress = json.loads(event.progress.json)
        self._session.send(_PROGRESS, json.dumps({"progress": progress}))

    def onQueryIdle(self, event: Any) -> None:
        event_json = {"id": str(event.id), "runId": str(event.runId), "timestamp": event.timestamp}
        self._session.send(_IDLE, json.dumps(event_json))

    def onQueryTerminated(self, event: Any) -> None:
        event_json = {
            "id": str(event.id),
            "runId": str(event.runId),
            "exception": event.exception,
            "errorClassOnException": event.errorClassOnException,
        }
        self._session.send(_TERMINATED, json.dumps(event_json))
        self._session.ended(str(event.runId), failed=event.exception is not None)


def failed(query: StreamingQuery, error: StateplanError) -> RuntimeFailure:
    """What ended a query, for a client that waits for it: Spark's StreamingQueryException."""
    at = f" ({error.place})" if error.place else ""
    failure = RuntimeFailure.of(
        "STREAM_FAILED",
        id=query.id,
        runId=query.run_id,
        message=f"{error.message}{at}",
        hint=error.hint,
    )
    failure.place = error.place
    return failure
