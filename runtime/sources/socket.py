"""Lines of text from a TCP server: for trying things out, as in Spark."""

from __future__ import annotations

import datetime as dt
import socket
import threading
import time
from typing import Any

import pyarrow as pa

from ...planner.model.errors import DescriptionError, RuntimeFailure
from ...planner.model.formats import fixed_schema
from ..checkpoint import Offset
from ..options import Options
from .base import SourceRequest, not_its_offset
from .parted import RowsSource


class SocketSource(RowsSource):
    """Each line that a server sends is a row: `value STRING`, and its arrival in `timestamp`.

    The offset is the number of the last line, from 0 on; -1 before the first, so that as in Spark
    a query begins with a batch without rows. Lines live in this process until their batch is
    committed: what a query had not committed when it ended is lost.

    Args:
        options: `host`, `port`, `includeTimestamp` (false).

    Raises:
        DescriptionError: the host or port is missing.
    """

    def __init__(self, options: Options) -> None:
        for name in ("host", "port"):
            if name not in options:
                text = f'Set a {name} to read from with option("{name}", ...).'
                raise DescriptionError("STATEPLAN_BAD_OPTION", text, hint=f"Add '{name}'.")
        options.refuse_unknown(("host", "port", "includeTimestamp"))
        self._with_time = options.flag("includeTimestamp")
        columns = fixed_schema("socket", options)
        assert columns is not None
        self.schema = columns
        self.host, self.port = options["host"], options.whole("port") or 0
        self._lines: list[tuple[str, dt.datetime]] = []
        # The number of the oldest line that is kept; None until it is known where the query is:
        # after a restart lines are numbered on from there.
        self._first: int | None = None
        self._lock = threading.Lock()
        self._connection: socket.socket | None = None
        self._end: int | None = None
        self._most: int | None = None  # as many lines as there are for `available_now`

    @classmethod
    def create(cls, request: SourceRequest) -> SocketSource:
        _ = request.fixed_schema
        return cls(request.options)

    @property
    def description(self) -> str:
        return f"TextSocketV2[host: {self.host}, port: {self.port}]"

    def attach(self, log_directory: Any) -> None:
        """Connect to the server.

        Raises:
            RuntimeFailure: it does not answer.
        """
        try:
            self._connection = socket.create_connection((self.host, self.port))
        except OSError as problem:
            raise RuntimeFailure(
                "STATEPLAN_SOCKET_NOT_REACHED",
                f"The server {self.host}:{self.port} is not reached: {problem}.",
                hint="Start the server first, such as 'nc -lk 9999'.",
            ) from None
        name = f"{self.description} reader"
        threading.Thread(
            target=self._take, args=(self._connection,), name=name, daemon=True
        ).start()

    def prepare_for_available_now(self) -> None:
        with self._lock:
            self._most = len(self._lines)

    def latest_offset(self, start: Offset | None, *, unlimited: bool = False) -> Offset | None:
        with self._lock:
            if self._first is None:
                self._first = 0 if start is None else _number(start) + 1
                self._end = None if self._most is None else self._first + self._most - 1
            return self._latest() if self._end is None else self._end

    def newest_offset(self) -> Offset | None:
        with self._lock:
            return self._latest()

    def table(self, start: Offset | None, end: Offset) -> Any:
        first, last = (-1 if start is None else _number(start)) + 1, _number(end) + 1
        with self._lock:
            kept = 0 if self._first is None else self._first
            known = self._first is not None and kept <= first and last <= kept + len(self._lines)
            if first < last and not known:
                raise RuntimeFailure(
                    "STATEPLAN_SOURCE_ROWS_GONE",
                    f"The lines {first} to {last - 1} of {self.description} belong to a batch that "
                    "has to run, but came in a run before.",
                    hint="A socket cannot be read again: start with a new checkpoint directory.",
                )
            rows = self._lines[first - kept : last - kept]
        columns = [[text for text, _ in rows], [at for _, at in rows]]
        schema = self.arrow_schema
        return pa.table(columns[: len(schema)], schema=schema)

    def batch_rows(self, start: Offset | None, end: Offset) -> int | None:
        return _number(end) - (-1 if start is None else _number(start))

    def commit(self, end: Offset) -> None:
        with self._lock:
            done = _number(end) + 1 - (self._first or 0)
            if done > 0 and self._first is not None:
                del self._lines[:done]
                self._first += done

    def stop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _latest(self) -> int:
        return (self._first or 0) + len(self._lines) - 1

    def _take(self, connection: socket.socket) -> None:
        """Take the server's lines until it has no more, or the source stops."""
        try:
            with connection.makefile(encoding="utf-8", errors="replace", newline="\n") as lines:
                for line in lines:
                    # Milliseconds, as in Spark.
                    at = dt.datetime.fromtimestamp(time.time_ns() // 1_000_000 / 1000, dt.UTC)
                    with self._lock:
                        self._lines.append((line.removesuffix("\n").removesuffix("\r"), at))
        except (OSError, ValueError):  # closed
            return


def _number(offset: Offset) -> int:
    if not isinstance(offset, int):
        raise not_its_offset(offset, "socket")
    return offset
