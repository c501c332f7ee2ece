"""What each sink promises holds when the driver dies between any two of its file steps.

A run dies at a step: from there on nothing of it reaches the disk. Then the query starts again.
STATEPLAN_STRIDE=1 takes every step; the suite takes some of them for each sink.
"""

from __future__ import annotations

import builtins
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from faults.steps import _BY_DESCRIPTOR, _BY_PATH, Steps, _path
from kafka_cluster import Cluster, cluster

import stateplan
from stateplan.runtime.state.storage_local import Disk

__all__ = ["cluster"]
pytestmark = [
    pytest.mark.embedded,
    # Who dies closes nothing.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning"),
]
STRIDE = int(os.environ.get("STATEPLAN_STRIDE", "89"))
NUMBERS = [1, 2, 3, 4]


class Died(BaseException):
    """The driver died."""


class Dying(Steps):
    """Steps at one of which the run dies, in this process."""

    dead = False

    def step(self, when: str, what: str, path: str) -> None:
        with self._one:
            self.names.append(f"{when} {what} {path}")
            if self.at == len(self.names) - 1:
                self.dead = True
        if self.dead:
            raise Died(self.names[-1])

    def _around(self, name: str, function: Any, place: Any) -> Callable[..., Any]:
        counted = super()._around(name, function, place)

        def wrapped(*args: Any, **kwargs: Any) -> Any:
            if not self.dead:
                return counted(*args, **kwargs)
            path = _path(*args, **kwargs) if place is _path else None
            return None if path is None or self._counts(path) else function(*args, **kwargs)

        return wrapped

    def _opening(self, function: Any) -> Callable[..., Any]:
        counted = super()._opening(function)

        def opened(file: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
            ours = isinstance(file, str | os.PathLike) and self._counts(file)
            if self.dead and ours and any(letter in mode for letter in "wxa"):
                return function(os.devnull, "wb")
            return (function if self.dead else counted)(file, mode, *args, **kwargs)

        return opened

    def _sink(self, function: Any, path: str) -> Any:
        return function(os.devnull) if self.dead else super()._sink(function, path)


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path, int | None], Dying]:
    """Counts the steps below a folder from now on; the run dies at one of them."""
    for name in (*_BY_PATH, *_BY_DESCRIPTOR):
        monkeypatch.setattr(os, name, getattr(os, name))
    monkeypatch.setattr(builtins, "open", builtins.open)
    monkeypatch.setattr(Disk, "sink", Disk.sink)
    plain = [(os, n, getattr(os, n)) for n in (*_BY_PATH, *_BY_DESCRIPTOR)]
    plain += [(builtins, "open", builtins.open), (Disk, "sink", Disk.sink)]  # type: ignore[list-item]

    def count(root: Path, at: int | None) -> Dying:
        for owner, name, function in plain:
            setattr(owner, name, function)
        steps = Dying(root, at)
        if at is None or at >= 0:
            steps.install()
        return steps

    return count


class Target:
    """A sink of some kind, and the numbers in it."""

    exactly_once = True

    def __init__(self, root: Path) -> None:
        self.root = root

    def given(self) -> dict[str, Any]:
        raise NotImplementedError

    def numbers(self) -> list[int]:
        raise NotImplementedError


class Files(Target):
    def given(self) -> dict[str, Any]:
        return {"sink": {"format": "parquet", "path": str(self.root / "out")}}

    def numbers(self) -> list[int]:
        from pyarrow import parquet

        found = [p for p in (self.root / "out").glob("*.parquet") if p.name[0] not in "._"]
        return [n for p in found for n in parquet.read_table(p).column("n").to_pylist()]


class Delta(Target):
    def given(self) -> dict[str, Any]:
        return {"sink": {"format": "delta", "path": str(self.root / "out")}}

    def numbers(self) -> list[int]:
        import deltalake

        table = deltalake.DeltaTable(self.root / "out").to_pyarrow_table()
        found: list[int] = table.column("n").to_pylist()
        return found


class Kafka(Target):
    exactly_once = False
    servers: Cluster

    def given(self) -> dict[str, Any]:
        options = {"kafka.bootstrap.servers": self.servers.servers, "topic": self._topic}
        options["kafka.enable.idempotence"] = "false"  # a producer of its own is asked for a while
        return {"sink": {"format": "kafka", "options": options}}

    def numbers(self) -> list[int]:
        return [int(value) for _, _, value, _ in self.servers.records(self._topic)]

    @property
    def _topic(self) -> str:
        return f"out-{abs(hash(self.root))}"


class Foreach(Target):
    exactly_once = False

    def given(self) -> dict[str, Any]:
        self.root.joinpath("kept").mkdir(exist_ok=True)
        path = self.root / "kept" / "rows"

        def keep(row: Any) -> None:
            with path.open("a") as file:
                file.write(f"{row.n}\n")

        return {"foreach": keep}

    def numbers(self) -> list[int]:
        return list(map(int, (self.root / "kept" / "rows").read_text().split()))


class Python(Target):
    """A stream writer that keeps a batch under its id: so what comes again changes nothing."""

    def given(self) -> dict[str, Any]:
        from pyspark.sql.datasource import DataSource, DataSourceStreamWriter, WriterCommitMessage

        folder = self.root / "kept"
        folder.mkdir(exist_ok=True)

        class Rows(WriterCommitMessage):
            def __init__(self, rows: list[int]) -> None:
                self.rows = rows

        class Writer(DataSourceStreamWriter):
            def write(self, iterator: Iterator[Any]) -> Any:
                return Rows([row.n for row in iterator])

            def commit(self, messages: Any, batchId: int) -> None:
                (folder / str(batchId)).write_text(json.dumps([m.rows for m in messages]))

            def abort(self, messages: Any, batchId: int) -> None:
                pass

        class Keeping(DataSource):
            def streamWriter(self, schema: Any, overwrite: bool) -> Any:
                return Writer()

        return {"sink": Keeping}

    def numbers(self) -> list[int]:
        parts = (part for path in (self.root / "kept").iterdir() for part in _read(path))
        return [n for rows in parts for n in rows]


def _read(path: Path) -> Any:
    return json.loads(path.read_text())


def run(target: Target) -> None:
    """Two batches, or what is left of them; the state sees to it that no number comes twice."""
    value = "CAST(n AS STRING) AS value, n" if isinstance(target, Kafka) else "n"
    handle = stateplan.sql(
        f"SELECT {value} FROM (SELECT DISTINCT ON (n) * FROM STREAM t)",
        {
            "t": {
                "schema": "n INT",
                "path": str(target.root / "in"),
                "options": {"maxFilesPerTrigger": 1},
            }
        },
        conf={"spark.sql.shuffle.partitions": "2"},
    ).run(
        engine="embedded",
        trigger="available_now",
        checkpoint=target.root / "checkpoint",
        background=False,
        tasks=1,
        **target.given(),
    )
    if handle.exception() is not None:
        raise handle.exception()


def life(kind: type[Target], root: Path, files: Any, at: int | None) -> list[str]:
    """A query that dies at a step, and starts again; all steps of the first run."""
    (root / "in").mkdir(parents=True)
    for number, numbers in enumerate(([1, 2], [2, 3, 4])):
        text = "".join(json.dumps({"n": n}) + "\n" for n in numbers)
        (root / "in" / f"{number}.json").write_text(text)
        os.utime(root / "in" / f"{number}.json", (number, number))
    target = kind(root)
    steps: Dying = files(root, at)
    try:
        run(target)
        died = False
    except Died:
        died = True
    files(root, -1)
    assert died == (at is not None)
    if died:
        run(target)
    found = sorted(target.numbers())
    where = f"died {steps.names[at]}" if at is not None else "alive"
    assert found == NUMBERS if kind.exactly_once else sorted(set(found)) == NUMBERS, where
    return steps.names


@pytest.mark.parametrize("kind", [Files, Delta, Kafka, Foreach, Python])
def test_a_driver_that_dies_anywhere(
    kind: type[Target], tmp_path: Path, files: Any, cluster: Cluster
) -> None:
    Kafka.servers = cluster
    whole = life(kind, tmp_path / "whole", files, None)
    assert len(whole) > 40
    first = ("Files", "Delta", "Kafka", "Foreach", "Python").index(kind.__name__) * 5 % STRIDE
    for at in range(first, len(whole), STRIDE):
        life(kind, tmp_path / str(at), files, at)


def test_foreach_calls_open_process_and_close(tmp_path: Path) -> None:
    calls: list[Any] = []

    class Writer:
        def open(self, partition: int, batch: int) -> bool:
            calls.append(("open", partition, batch))
            return True

        def process(self, row: Any) -> None:
            calls.append(row.n // (row.n - 2))

        def close(self, error: Any) -> None:
            calls.append(("close", type(error)))

    def wrote(*numbers: int) -> Any:
        query = stateplan.sql("SELECT n FROM STREAM t", {"t": "n INT"})
        rows = {"t": [(n,) for n in numbers]}
        return query.run(
            engine="embedded", sources=rows, foreach=Writer(), trigger="once", background=False
        )

    handle = wrote(3, 4)
    assert calls == [("open", 0, 0), 3, 2, ("close", type(None))]
    assert handle.last_progress["sink"]["numOutputRows"] == 2
    calls.clear()
    assert "ZeroDivisionError" in str(wrote(2).exception())
    assert calls == [("open", 0, 0), ("close", ZeroDivisionError)]


@pytest.mark.parametrize("writer", [7, object()])
def test_what_is_no_foreach_writer(writer: Any) -> None:
    query = stateplan.sql("SELECT n FROM STREAM t", {"t": "n INT"})
    with pytest.raises(stateplan.DescriptionError, match="is no foreach writer"):
        query.run(engine="embedded", sources={"t": []}, foreach=writer)


def test_a_table_of_the_embedded_engine_that_is_gone_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from stateplan.runtime.engines.embedded_session import session

    monkeypatch.chdir(tmp_path)  # where its tables' files are
    query = stateplan.sql("SELECT n FROM STREAM t", {"t": "n INT"})
    how: dict[str, Any] = {
        "engine": "embedded",
        "sink": {"format": "parquet", "table": "streamed"},
        "checkpoint": tmp_path / "checkpoint",
        "trigger": "available_now",
    }
    place = tmp_path / "rows"
    place.mkdir()
    how["sources"] = {"t": {"format": "json", "path": str(place)}}
    (place / "1.json").write_text('{"n": 1}\n')
    query.run(**how).await_termination()
    assert [row.n for row in session().table("streamed").collect()] == [1]
    session().sql("DROP TABLE streamed")
    (place / "2.json").write_text('{"n": 2}\n')
    with pytest.raises(stateplan.RuntimeFailure, match=r"'streamed' .* is not there"):
        query.run(**how)
