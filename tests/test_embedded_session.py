"""The embedded engine's sessions: one start, a port for this process alone, errors, silence."""

from __future__ import annotations

import socket
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from stateplan.planner.model.errors import RuntimeFailure
from stateplan.runtime.engines import embedded_session, private_port
from stateplan.runtime.engines.choice import Installed
from stateplan.runtime.engines.private_port import PortFilterError

pytestmark = pytest.mark.embedded

# A second client: it writes a file in a Python function that the engine runs, then reads a row.
_SECOND_CLIENT = """
import os, sys
from pyspark.sql.connect.client import DefaultChannelBuilder
from pyspark.sql.connect.session import SparkSession

marked = sys.argv[2]

def mark(batches):
    open(marked, "w").close()
    yield from batches

options = [("grpc.min_reconnect_backoff_ms", 2000)]
builder = DefaultChannelBuilder(f"sc://127.0.0.1:{sys.argv[1]}", options)
spark = SparkSession(connection=builder)
spark.client.set_retry_policies([])
function = lambda: spark.range(1).mapInArrow(mark, "id long")
query = lambda: spark.sql("SELECT 'a row'")
for work in (function, query):
    try:
        print("answered", work().collect(), flush=True)
    except Exception as error:
        print("turned away", "UNAVAILABLE" in str(error), flush=True)
os._exit(0)  # a client that was cut off may wait for threads of its channel for ever
"""


def in_a_process(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", textwrap.dedent(code), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def second_client(port: int, marked: Path) -> list[str]:
    script = marked.with_suffix(".py")
    script.write_text(_SECOND_CLIENT)
    command = [sys.executable, str(script), str(port), str(marked)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def port() -> int:
    """Where the engine of this process listens."""
    embedded_session.session()
    assert embedded_session._running is not None
    return int(embedded_session._running.address[1])


def test_a_second_client_is_turned_away(tmp_path: Path) -> None:
    marked = tmp_path / "marked"
    assert second_client(port(), marked) == ["turned away True"] * 2
    assert not marked.exists()
    assert embedded_session.session().range(3).count() == 3


def test_the_second_client_would_be_answered_without_the_door(tmp_path: Path) -> None:
    from pysail.spark import SparkConnectServer

    server = SparkConnectServer("127.0.0.1", 0)
    server.start()
    try:
        marked = tmp_path / "marked"
        answers = second_client(server.listening_address[1], marked)
        assert answers == ["answered [Row(id=0)]", "answered [Row(a row='a row')]"]
        assert marked.exists()
    finally:
        server.stop()


def test_sessions_share_the_engine_and_nothing_else() -> None:
    spark, other = embedded_session.session(), embedded_session.new_session()
    assert embedded_session.session() is spark
    assert embedded_session.is_embedded(spark)
    assert embedded_session.is_embedded(other)
    spark.range(2).createOrReplaceTempView("mine")
    other.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    assert [row.tableName for row in other.sql("SHOW TABLES").collect()] == []
    assert spark.conf.get("spark.sql.session.timeZone") != "Asia/Tokyo"
    other.stop()
    assert spark.table("mine").count() == 2
    spark.catalog.dropTempView("mine")


def test_a_session_that_was_stopped_is_followed_by_another() -> None:
    first = embedded_session.session()
    first.stop()
    second = embedded_session.session()
    assert second is not first
    assert second.range(3).count() == 3


def test_a_broken_connection_is_made_again() -> None:
    address = ("127.0.0.1", port())
    spark, sail = embedded_session.session(), embedded_session._running
    assert sail is not None and sail.private_port is not None
    ended = 0
    for each in private_port._sockets():
        with each:
            if private_port._peer(each) == address:
                each.shutdown(socket.SHUT_RDWR)
                ended += 1
    assert ended == 1
    deadline = time.monotonic() + 20
    while sail.private_port.wait(0):  # until the channel has noticed
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert spark.range(5).count() == 5


_IN_A_PROCESS = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job of a shell ignores it
from stateplan.runtime.engines import embedded_session
spark = embedded_session.session()
"""


def test_nothing_is_printed_and_the_process_ends() -> None:
    done = in_a_process(
        _IN_A_PROCESS
        + """
print(spark.range(10).mapInArrow(lambda rows: rows, "id long").count())
try:
    spark.sql("SELECT nothing").collect()
except Exception as error:
    print(type(error).__name__)
"""
    )
    assert (done.stdout, done.stderr, done.returncode) == ("10\nAnalysisException\n", "", 0)


@pytest.mark.skipif(sys.platform != "linux", reason="the C library of others is another")
def test_the_next_batch_finds_the_memory_of_the_one_before() -> None:
    done = in_a_process("""
        import resource
        import numpy as np
        from stateplan.runtime.engines.embedded_session import session

        def new_pages():
            before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
            pieces = [np.ones(1 << 17) for _ in range(100)]
            del pieces
            return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

        session()
        print(new_pages(), new_pages())
    """)
    assert done.returncode == 0, done.stderr
    first, second = map(int, done.stdout.split())
    assert second < 0.1 * first


def test_ctrl_c_does_not_end_the_engine() -> None:
    done = in_a_process(
        _IN_A_PROCESS
        + """
try:
    os.kill(os.getpid(), signal.SIGINT)
    signal.pause()
except KeyboardInterrupt:
    print("interrupted")
print(spark.range(10).count())
"""
    )
    assert (done.stdout, done.stderr) == ("interrupted\n10\n", "")


def test_a_query_that_runs_is_stopped_before_the_process_ends() -> None:
    done = in_a_process(
        """
import atexit, stateplan, threading
inside = threading.Event()
atexit.register(lambda: print(query.is_active, query.exception()))

def busy(frame, batch_id):
    inside.set()
    while True:
        frame.count()

counts = stateplan.sql("SELECT k, count(*) FROM STREAM s GROUP BY k", {"s": "k STRING"}, "update")
query = counts.run(sources={"s": [("a",)]}, sink=busy, engine="embedded")
inside.wait()
"""
    )
    assert (done.stdout, done.stderr, done.returncode) == ("False None\n", "", 0)


def test_it_starts_again_after_it_was_stopped() -> None:
    done = in_a_process(
        _IN_A_PROCESS
        + """
embedded_session.stop()
print(spark.is_stopped, embedded_session.is_embedded(spark))
print(embedded_session.session().range(10).count())
"""
    )
    assert (done.stdout, done.stderr) == ("True False\n10\n", "")


def test_a_fork_is_refused() -> None:
    done = in_a_process(
        _IN_A_PROCESS
        + """
from stateplan import RuntimeFailure
child = os.fork()
if not child:
    try:
        embedded_session.session()
    except RuntimeFailure as failure:
        print(failure.condition, flush=True)
    os._exit(0)
_, status = os.waitpid(child, 0)
assert status == 0, status
print(spark.range(10).count())
"""
    )
    assert done.stdout == "STATEPLAN_EMBEDDED_FORKED\n10\n", done.stderr


def test_an_environment_that_does_not_fit_is_refused_before_anything_starts() -> None:
    with pytest.raises(RuntimeFailure) as caught:
        embedded_session.check_installed(Installed(pysail="0.7.2", pyspark="4.3.0"))
    assert caught.value.condition == "STATEPLAN_WRONG_PYSPARK"
    embedded_session.check_installed(Installed.here())


def test_a_setting_that_sail_refuses_is_named() -> None:
    done = in_a_process(
        """
        import os
        os.environ["SAIL_EXECUTION__BATCH_SIZE"] = "many"
        from stateplan import RuntimeFailure
        from stateplan.runtime.engines import embedded_session
        try:
            embedded_session.session()
        except RuntimeFailure as failure:
            print(failure.condition, "SAIL_" in failure.hint)
        """
    )
    assert (done.stdout, done.stderr) == ("STATEPLAN_EMBEDDED_NOT_STARTED True\n", "")


def test_a_machine_of_several_users_is_warned_where_there_is_no_door(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def none(address: tuple[str, int]) -> None:
        raise PortFilterError("not here")

    monkeypatch.setattr(embedded_session, "PrivatePort", none)
    monkeypatch.setattr(embedded_session, "other_users", lambda: ["ann"])
    with pytest.warns(embedded_session.OpenPortWarning, match=r"other users .* \(ann\)"):
        sail = embedded_session._Sail()
    assert sail.new_session().range(3).count() == 3
    sail.stop()
    monkeypatch.setattr(embedded_session, "other_users", list)
    embedded_session._Sail().stop()  # a machine of one user: no warning
