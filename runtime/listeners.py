"""Listeners of queries: plain functions of a batch's figures, and PySpark's own classes."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..planner.model.errors import DescriptionError, StateplanError
from .progress import Listener, StreamingQueryProgress, clock_ms, timestamp_text

if TYPE_CHECKING:
    from pyspark.sql.streaming.listener import StreamingQueryListener

    from .batch_progress import RunIdentity

_LOG = logging.getLogger(__name__)
_METHODS = ("onQueryStarted", "onQueryProgress", "onQueryTerminated")


class Listeners:
    """Tells a query's listeners what befalls it, in the query's own thread.

    An error of a listener is logged, and the query goes on; but where the reader of a listener's
    output is gone, the query ends.

    Args:
        given: functions of a batch's figures, or objects of PySpark's StreamingQueryListener, which
            get PySpark's own events.
        identity: of the query's run.
        idle_ms: how often it is informed that a query has nothing to do
            (`spark.sql.streaming.noDataProgressEventInterval`).

    Raises:
        DescriptionError: one is neither.
    """

    def __init__(
        self,
        given: Sequence[Listener | StreamingQueryListener],
        identity: RunIdentity,
        idle_ms: int = 10_000,
    ) -> None:
        self._identity, self._idle_ms = identity, idle_ms
        self._shown_ms: int | None = None
        self._functions: list[Listener] = []
        self._objects: list[Any] = []
        for one in given:
            if not isinstance(one, type) and all(hasattr(one, name) for name in _METHODS):
                self._objects.append(one)
            elif callable(one) and not isinstance(one, type):
                self._functions.append(one)
            else:
                raise DescriptionError(
                    "STATEPLAN_BAD_LISTENER",
                    f"{one!r:.80} is no listener.",
                    hint="Give functions of a batch's figures, or objects of PySpark's "
                    "StreamingQueryListener.",
                )

    def started(self) -> None:
        """The query was started."""
        timestamp = timestamp_text(clock_ms())
        self._send("QueryStarted", {"name": self._identity.name, "timestamp": timestamp})

    def progressed(self, progress: StreamingQueryProgress) -> None:
        """A batch has ended."""
        self._shown_ms = clock_ms()
        for function in self._functions:
            _call(function, progress)
        if self._objects:
            self._send("QueryProgress", {"progress": json.loads(progress.json)})

    def idle(self) -> bool:
        """A trigger had nothing to do; whether it is time that the query shows it.

        As in Spark listeners hear of it too, but where it is the first trigger of the run.
        """
        now, shown = clock_ms(), self._shown_ms
        if shown is not None and now - shown < self._idle_ms:
            return False
        self._shown_ms = now
        if shown is not None:
            self._send("QueryIdle", {"timestamp": timestamp_text(now)})
        return True

    def terminated(self, error: StateplanError | None) -> None:
        """The query has ended, by itself, by a stop or by an error."""
        message = None if error is None else str(error)
        condition = None if error is None else error.condition
        self._send("QueryTerminated", {"exception": message, "errorClassOnException": condition})

    def _send(self, name: str, content: dict[str, Any]) -> None:
        if not self._objects:
            return
        from pyspark.sql.streaming import listener

        run = {"id": self._identity.id, "runId": self._identity.run_id}
        event = getattr(listener, f"{name}Event").fromJson({**run, **content})
        for one in self._objects:
            method = getattr(one, f"on{name}", None)  # older listeners have no onQueryIdle
            if method is not None:
                _call(method, event)


def _call(function: Callable[[Any], object], event: Any) -> None:
    try:
        function(event)
    except BrokenPipeError:
        raise
    except Exception:
        _LOG.exception("A listener failed; the query goes on")
