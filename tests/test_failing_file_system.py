"""A file system that is full, or fails, under a checkpoint: the batch fails, nothing is lost."""

from __future__ import annotations

import errno
import itertools
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import protocol.handler
import pytest
from protocol.handler import FailFrom, FailWhile, Handler
from protocol.rig import emitted, kept, run_query, visible
from pyspark import cloudpickle

import stateplan
from stateplan.planner.model.errors import StateplanError
from stateplan.runtime.state import Location, located

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BATCHES, RETAINED = 2, 1


def remote(folder: Path, **settings: Any) -> Location:
    """A checkpoint on a file system of its own."""
    return located("own://box/c", Handler(str(folder), **settings))


@pytest.mark.parametrize(
    ("atomic", "number", "length"),
    [(True, errno.EIO, 1), (False, errno.ENOSPC, None)],
    ids=["an upload fails", "the disk is full from then on"],
)
def test_whatever_operation_fails_a_restart_goes_on(
    tmp_path: Path, atomic: bool, number: int, length: int | None
) -> None:
    for first in itertools.count():
        folder = tmp_path / str(first)
        folder.mkdir()
        fail = FailFrom(first, number, None if length is None else first + length - 1)
        sink: dict[int, Any] = {}
        problem = None
        try:
            root = remote(folder, fail=fail, atomic_uploads=atomic)
            run_query(root, "first", sink.setdefault, BATCHES, RETAINED)
        except StateplanError as error:
            problem = error
        if not fail.failed:
            break
        root = remote(folder, atomic_uploads=atomic)
        committed, states = visible(root, RETAINED)
        assert (committed, states) == kept(committed, RETAINED)
        if problem is None:  # what is deleted may stay
            assert committed == BATCHES
        else:
            assert os.strerror(number) in problem.message, problem
            assert "own://box/c" in problem.message and ".tmp" not in problem.message, problem
            assert "goes on from the last commit" in (problem.hint or ""), problem
        run_query(root, "second", sink.setdefault, BATCHES, RETAINED)
        assert sink == emitted(BATCHES)
        assert visible(root, RETAINED) == kept(BATCHES, RETAINED)
    assert first > 50


FULL = os.strerror(errno.ENOSPC)
FAULTS = (
    ("open .*/offsets/1$", r"The file 'full://box/c/offsets/1' cannot be written"),
    ("(write|closed?) .*/runs/r", r"State cannot be written to full://box/c/state/0/runs/r"),
    ("read .*/runs/r", r"The state file full://box/c/state/0/runs/r\S+ cannot be read"),
    (
        "closed? .*/runs/v",
        r"Version 5 of the state cannot be written to full://box/c/state/0/runs/v",
    ),
    ("closed .*/commits/5$", r"The file 'full://box/c/commits/5' cannot be written"),
    (".* .*/claims/.*", r"The file 'full://box/c/claims[^ ]*' cannot be used"),
)
"""What fails from batch 1 on, a batch each, and how the message begins."""


@pytest.fixture
def job(spark: SparkSession, tmp_path: Path) -> Iterator[Job]:
    # Workers do not have the module of a test.
    cloudpickle.register_pickle_by_value(protocol.handler)
    yield Job(spark, tmp_path)
    cloudpickle.unregister_pickle_by_value(protocol.handler)


class Job:
    """A count of users by a real query, its checkpoint behind a handler."""

    def __init__(self, spark: SparkSession, root: Path) -> None:
        self.spark, self.root = spark, root
        self.switch = root / "switch"
        self.sink: dict[int, dict[str, int]] = {}
        (root / "in").mkdir()
        (root / "files").mkdir()
        handler = Handler(
            str(root / "files"), FailWhile(str(self.switch), errno.ENOSPC), atomic_uploads=True
        )
        stateplan.register_file_system("full", handler)

    def feed(self, number: int) -> None:
        rows = [{"user": f"u{number % 3}"}, {"user": f"w{number}"}]
        (self.root / "in" / f"{number}.json").write_text("\n".join(map(json.dumps, rows)))

    def run(self) -> None:
        def keep(frame: DataFrame, batch: int) -> None:
            self.sink[batch] = {row.user: row.n for row in frame.collect()}

        query = stateplan.sql(
            "SELECT user, count(*) AS n FROM STREAM events GROUP BY user",
            sources={"events": {"schema": "user STRING", "path": str(self.root / "in")}},
            output_mode="update",
            conf={
                "spark.sql.shuffle.partitions": "4",
                "spark.sql.streaming.minBatchesToRetain": "3",
            },
        )
        query.run(
            self.spark,
            checkpoint="full://box/c",
            foreach_batch=keep,
            trigger="available_now",
            background=False,
            tasks=2,
        ).await_termination()

    def state(self, version: int | None = None) -> dict[str, int]:
        table = stateplan.read_state_table("full://box/c", version=version)
        return dict(zip(*(table.column(i).to_pylist() for i in (0, 1)), strict=True))


def counted(batches: int) -> dict[str, int]:
    users = [user for n in range(batches) for user in (f"u{n % 3}", f"w{n}")]
    return {user: users.count(user) for user in users}


def test_a_full_disk_under_a_query_on_spark(job: Job) -> None:
    job.feed(0)
    job.run()
    commits = job.root / "files/box/c/commits"
    for batch, (pattern, message) in enumerate(FAULTS, start=1):
        job.feed(batch)
        job.switch.write_text(pattern)
        with pytest.raises(StateplanError, match=message) as caught:
            job.run()
        assert FULL in caught.value.message
        assert "goes on from the last commit" in (caught.value.hint or "")
        done = batch if pattern.startswith("closed ") else batch - 1
        assert max(int(path.name) for path in commits.iterdir()) == done
        job.switch.unlink()
        job.run()
        assert job.sink[batch] == {u: counted(batch + 1)[u] for u in (f"u{batch % 3}", f"w{batch}")}
    last = len(FAULTS) + 1
    assert job.state() == counted(last)
    for version in (last, last - 1, last - 2):
        assert job.state(version) == counted(version)
    with pytest.raises(StateplanError, match=f"{last - 3}"):
        job.state(last - 3)
