"""Sources without files: socket, rate, rate-micro-batch; and those that a package adds."""

from __future__ import annotations

import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import stateplan
from stateplan.planner.model import registered
from stateplan.planner.model.errors import StateplanError
from stateplan.planner.model.schemas.ddl import parse_schema
from stateplan.runtime.sinks import MemorySink, Sink, SinkRequest, make_sink
from stateplan.runtime.sources import RateSource, Source, SourceRequest, make_source
from stateplan.runtime.sources.parted import RowsSource


class Server:
    """A TCP server for one client at a time, which gets what is sent."""

    def __init__(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self._clients: list[socket.socket] = []
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    def _accept(self) -> None:
        while True:
            try:
                self._clients.append(self._listening.accept()[0])
            except OSError:
                return

    def send(self, text: str) -> None:
        until(lambda: bool(self._clients))
        self._clients[-1].sendall(text.encode())

    def close(self) -> None:
        """Close every socket; nobody is let in meanwhile, whose socket would stay open."""
        self._listening.shutdown(socket.SHUT_RDWR)
        self._accepting.join()
        for one in (self._listening, *self._clients):
            one.close()


@pytest.fixture
def server() -> Iterator[Server]:
    started = Server()
    yield started
    started.close()


def until(fulfilled: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not fulfilled():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def opened(server: Server, **options: str) -> Any:
    source = make_source(
        "socket", options={"host": "127.0.0.1", "port": str(server.port), **options}
    )
    source.attach(Path())  # type: ignore[arg-type]
    return source


@pytest.mark.embedded
def test_lines_are_rows_as_in_spark(server: Server, tmp_path: Path) -> None:
    query = stateplan.sql(
        "SELECT upper(value) AS v FROM STREAM lines",
        {"lines": {"format": "socket", "options": {"host": "127.0.0.1", "port": server.port}}},
    )
    sink = MemorySink()
    handle = query.run(engine="embedded", sink=sink, checkpoint=tmp_path)
    until(lambda: bool(handle.recent_progress))
    server.send("a\nb\nhal")
    until(lambda: len(sink.rows()) == 2)
    server.send("f\n")
    until(lambda: len(sink.rows()) == 3)
    until(lambda: sum(p["numInputRows"] for p in handle.recent_progress) == 3)
    handle.stop()
    assert sink.rows() == [("A",), ("B",), ("HALF",)]
    first = handle.recent_progress[0]["sources"][0]
    assert (first["startOffset"], first["endOffset"]) == (None, -1)
    last = handle.recent_progress[-1]["sources"][0]
    assert last["description"] == f"TextSocketV2[host: 127.0.0.1, port: {server.port}]"
    assert last["endOffset"] == last["latestOffset"] == 2


def test_lines_are_numbered_on_after_a_restart(server: Server) -> None:
    source = opened(server, includeTimestamp="true")
    assert source.latest_offset(4) == 4
    server.send("x\ny\r\n")
    until(lambda: source.newest_offset() == 6)
    table = source.table(4, 6)
    assert table.column("value").to_pylist() == ["x", "y"]
    assert abs(table.column("timestamp")[0].as_py().timestamp() - time.time()) < 60
    source.commit(5)
    assert source.table(5, 6).column("value").to_pylist() == ["y"]
    with pytest.raises(StateplanError, match="lines 5 to 5") as caught:
        source.table(4, 5)
    assert caught.value.condition == "STATEPLAN_SOURCE_ROWS_GONE"
    source.stop()


def test_lines_of_a_run_before_are_gone(server: Server) -> None:
    source = opened(server)
    with pytest.raises(StateplanError, match="cannot be read again"):
        source.table(-1, 3)
    source.stop()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, 'Set a host to read from with option("host", ...).'),
        ({"host": "x"}, 'Set a port to read from with option("port", ...).'),
        ({"host": "x", "port": "y"}, "must be a whole number"),
        ({"host": "x", "port": "1", "includeTimestamp": "maybe"}, "must be true or false"),
    ],
)
def test_a_socket_needs_host_and_port(options: Mapping[str, str], message: str) -> None:
    with pytest.raises(StateplanError) as caught:
        make_source("socket", options=options)
    assert message in caught.value.message


def test_a_server_that_does_not_answer() -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    listening.close()
    source = make_source("socket", options={"host": "127.0.0.1", "port": str(port)})
    with pytest.raises(StateplanError, match="is not reached"):
        source.attach(Path())  # type: ignore[arg-type]


@pytest.mark.embedded
def test_so_many_rows_a_batch(tmp_path: Path) -> None:
    options = {"rowsPerBatch": 2, "startTimestamp": 1000, "advanceMillisPerBatch": 50}
    query = stateplan.sql(
        "SELECT unix_millis(timestamp) AS t, value FROM STREAM r",
        {"r": {"format": "rate-micro-batch", "options": options}},
    )
    rows, offsets = [], []
    for _ in range(2):  # available_now is one batch, as in Spark
        sink = MemorySink()
        given = {"trigger": "available_now", "checkpoint": tmp_path, "background": False}
        handle = query.run(engine="embedded", sink=sink, **given)
        rows.append(sorted(sink.rows()))
        offsets.append(handle.last_progress["sources"][0]["endOffset"])
    assert rows == [[(1000, 0), (1000, 1)], [(1050, 2), (1050, 3)]]
    assert offsets == [{"offset": 2, "timestamp": 1050}, {"offset": 4, "timestamp": 1100}]


@pytest.mark.parametrize(
    "options", [{}, {"rowsPerBatch": "0"}, {"rowsPerBatch": "1", "startTimestamp": "-1"}]
)
def test_a_batch_needs_rows(options: Mapping[str, str]) -> None:
    with pytest.raises(StateplanError) as caught:
        make_source("rate-micro-batch", options=options)
    assert caught.value.condition == "STATEPLAN_BAD_OPTION"


def test_a_rate_is_reached_by_and_by() -> None:
    source = RateSource({"rowsPerSecond": "10", "rampUpTime": "4s"})
    # Spark's RateStreamProvider.valueAtSecond
    assert [source.batch_rows(0, second) for second in range(7)] == [0, 2, 6, 12, 20, 30, 40]
    assert source.description == (
        "RateStreamV2[rowsPerSecond=10, rampUpTimeSeconds=4, numPartitions=default"
    )


# ------------------------------------------------------------------------------ users' packages


class Countdown(RowsSource):
    """A source as a package has it: so many rows, all in one batch."""

    def __init__(self, rows: int) -> None:
        self.schema = parse_schema("left INT")
        self.rows = rows

    @classmethod
    def create(cls, request: SourceRequest) -> Source:
        request.options.refuse_unknown(("from",))
        return cls(request.options.whole("from", 3) or 0)

    @classmethod
    def fixed_schema(cls, options: Mapping[str, str]) -> Any:
        return parse_schema("left INT")

    @property
    def description(self) -> str:
        return "Countdown"

    def latest_offset(self, start: Any, *, unlimited: bool = False) -> Any:
        return self.rows

    def table(self, start: Any, end: Any) -> Any:
        import pyarrow as pa

        return pa.table({"left": list(range(end, start or 0, -1))}, schema=self.arrow_schema)


class Kept(Sink):
    """A sink as a package has it."""

    seen: list[Any] = []  # noqa: RUF012  of all objects
    in_arrow = True

    @classmethod
    def create(cls, request: SinkRequest) -> Sink:
        return cls()

    @property
    def description(self) -> str:
        return "Kept"

    def write(self, frame: Any, batch_id: int) -> int:
        self.seen.extend(frame.toArrow().column(0).to_pylist())
        return len(self.seen)


class EntryPoint:
    def __init__(self, name: str, kind: type) -> None:
        self.name, self.load = name, lambda: kind


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package with a source and a sink is installed."""
    groups = {"stateplan.sources": Countdown, "stateplan.sinks": Kept}

    def entry_points(*, group: str) -> list[EntryPoint]:
        return [EntryPoint("countdown", groups[group])]

    monkeypatch.setattr(registered, "entry_points", entry_points)
    registered._of_entry_point.cache_clear()
    Kept.seen.clear()
    yield
    registered._of_entry_point.cache_clear()


@pytest.mark.embedded
def test_a_package_adds_a_source_and_a_sink(package: None) -> None:
    source = {"format": "Countdown", "options": {"from": 2}}
    query = stateplan.sql("SELECT left * 2 AS n FROM STREAM c", {"c": source})
    assert "StreamingRelation Countdown, [left#" in query.explain()
    sink = {"format": "countdown"}
    handle = query.run(engine="embedded", sink=sink, trigger="available_now", background=False)
    assert handle.exception() is None and Kept.seen == [4, 2]
    assert handle.last_progress["sources"][0]["numInputRows"] == 2


def test_an_unknown_name_lists_what_there_is(package: None) -> None:
    with pytest.raises(StateplanError, match="Failed to find the data source: kafak") as caught:
        make_source("kafak")
    assert "rate-micro-batch" in caught.value.hint and caught.value.hint.endswith("countdown.")


def test_a_source_with_columns_of_its_own_takes_no_others() -> None:
    with pytest.raises(StateplanError, match="always has the columns") as caught:
        make_source("rate", schema=parse_schema("a INT"))
    assert caught.value.condition == "STATEPLAN_SOURCE_SCHEMA_FIXED"


@pytest.mark.parametrize(
    ("format", "options", "columns"),
    [
        ("rate", {}, "timestamp#0, value#1L"),
        ("rate-micro-batch", {}, "timestamp#0, value#1L"),
        ("socket", {"includeTimestamp": True}, "value#0, timestamp#1"),
        ("kafka", {}, "key#0, value#1, topic#2, partition#3, offset#4L, timestamp#5, timestampT"),
    ],
)
def test_explain_knows_the_columns(format: str, options: Any, columns: str) -> None:
    source = {"format": format, "options": options}
    query = stateplan.sql("SELECT count(*) FROM STREAM s", {"s": source}, output_mode="complete")
    assert f"StreamingRelation {format}, [{columns}" in query.explain()


@pytest.mark.parametrize(
    ("format", "package", "options"),
    [
        ("kafka", "confluent_kafka", {"kafka.bootstrap.servers": "x:1", "subscribe": "t"}),
        ("kafka", "confluent_kafka", {"kafka.bootstrap.servers": "x:1", "topic": "t"}),
        ("delta", "deltalake", {}),
    ],
)
def test_a_missing_package_is_named_with_its_extra(
    format: str, package: str, options: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    make: Any = make_sink if "topic" in options else make_source
    with pytest.raises(StateplanError) as caught:
        make(format, path="t", options=options)
    assert caught.value.condition == "STATEPLAN_PACKAGE_MISSING"
    assert f"pip install 'stateplan[{format}]'" in caught.value.hint


@pytest.mark.embedded
def test_avro_is_refused_where_the_engine_does_not_read_it(tmp_path: Path) -> None:
    source = {"format": "avro", "schema": "a INT", "path": str(tmp_path)}
    query = stateplan.sql("SELECT a FROM STREAM t", {"t": source})
    with pytest.raises(StateplanError, match="reading 't'") as caught:
        query.run(engine="embedded", sink="noop", trigger="once", background=False)
    assert caught.value.condition == "STATEPLAN_NOT_EXACT"
