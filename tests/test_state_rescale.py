"""Another number of stores: exact, at once, whole or not at all, and only for a stopped query."""

from __future__ import annotations

import importlib.util
import itertools
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner, Result
from engines import some_on_spark

import stateplan
from stateplan.planner.cli import main
from stateplan.planner.description import Scenario
from stateplan.planner.incremental_execution import IncrementalExecution
from stateplan.runtime import state_files
from stateplan.runtime.checkpoint import Checkpoint
from stateplan.runtime.comparison import differences
from stateplan.runtime.inspection import rescale as rescaling
from stateplan.runtime.inspection.rescale import rescale
from stateplan.runtime.scenario_run import SCENARIO_CONF, ScenarioRun
from stateplan.runtime.state_files import stored_operators

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STORES = "spark.sql.shuffle.partitions"
COUNT = "SELECT user, count(*) AS n FROM STREAM events GROUP BY user"


def random_streams() -> Any:
    """The module beside this one, which is in no package."""
    path = Path(__file__).with_name("random_streams.py")
    spec = importlib.util.spec_from_file_location("random_streams", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Rescaling(ScenarioRun):
    """A scenario whose query gets another number of stores and tasks at each restart."""

    numbers: Iterator[tuple[int, int]]

    def _restart(self, execution: IncrementalExecution) -> None:
        assert self._query is not None
        self._query.stop()
        stores, self._tasks = next(self.numbers)
        done = rescale(str(self._folder / "checkpoint"), stores)
        assert done.after == stores
        self._start(execution)


@some_on_spark(
    "shape,seed",
    [("keyed", 3), ("windowed", 4), ("sessions", 1), ("deduplicated", 5), ("chained", 2)],
    [("chained", 2)],
)
def test_random_streams_go_on_as_if_nothing_had_happened(
    session: SparkSession, tmp_path: Path, shape: str, seed: int
) -> None:
    case = random_streams().case(shape, seed)
    steps = [step for step in case["steps"] if "batch" in step]
    steps = [each for step in steps for each in (step, {"restart": True})]
    conf = {**case["conf"], STORES: "200"}
    build = case.get("build")
    settings = {"conf": {**SCENARIO_CONF, **conf}, "output_mode": case["output_mode"]}
    query = None if build is None else build().query(**settings)
    scenario = Scenario(
        sql=case.get("sql", ""),
        sources=case["sources"],
        steps=[*steps, steps[0]],
        conf=conf,
        output_mode=case["output_mode"],
    )
    emitted = []
    for kind, tasks in ((ScenarioRun, 2), (Rescaling, 4)):
        folder = tmp_path / kind.__name__
        folder.mkdir()
        run = kind(session, scenario, folder, tasks=tasks, query=query)
        run.numbers = itertools.cycle([(7, 7), (1, 1), (1000, 5)])  # type: ignore[attr-defined]
        emitted.append(run.run())
    assert "error" not in emitted[0]
    assert not differences(*emitted)
    pinned = Checkpoint.open(str(tmp_path / "Rescaling" / "checkpoint"))
    last = pinned.offsets(pinned.offset_log.latest() or 0)
    assert last is not None and last.metadata.conf[STORES] == "1000"
    for metadata in stored_operators(pinned.state_directory).values():
        assert {info.numPartitions for info in metadata.stateStoreInfo} == {1000}


# --------------------------------------------------------------------------- the checkpoint's files


@pytest.fixture(scope="module")
def ran(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkpoint of a query of 200 stores with two batches."""
    folder = tmp_path_factory.mktemp("ran")
    (folder / "in").mkdir()
    for number in range(2):
        (folder / "in" / f"{number}.json").write_text('{"user":"ann"}\n{"user":"bob"}\n')
    source = {
        "schema": "user STRING",
        "path": str(folder / "in"),
        "options": {"maxFilesPerTrigger": "1"},
    }
    query = stateplan.sql(COUNT, sources={"events": source}, output_mode="update")
    where = str(folder / "checkpoint")
    query.run(
        spark, checkpoint=where, sink="noop", trigger="available_now", background=False
    ).await_termination()
    return folder / "checkpoint"


@pytest.fixture
def checkpoint(ran: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(ran, tmp_path / "checkpoint"))


def call(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["state", "rescale", *map(str, arguments)])


def numbers(checkpoint: Path) -> tuple[int, int]:
    """The number of stores in the offset log and in the operator's metadata."""
    opened = Checkpoint.open(str(checkpoint))
    seq = opened.offsets(1)
    assert seq is not None
    (operator,) = stored_operators(opened.state_directory).values()
    return int(seq.metadata.conf[STORES]), operator.stateStoreInfo[0].numPartitions


def contents(checkpoint: Path) -> dict[str, bytes]:
    """All files by name, but for claims and checksums."""
    paths = (path for path in checkpoint.rglob("*") if path.is_file() and path.name[0] != ".")
    found = {path.relative_to(checkpoint).as_posix(): path.read_bytes() for path in paths}
    return {name: data for name, data in found.items() if not name.startswith("claims/")}


def test_only_the_number_changes(checkpoint: Path) -> None:
    before = contents(checkpoint)
    result = call(checkpoint, "--stores", 7)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == (
        "200 -> 7 stores, operators: 0 (stateStoreSave); the query goes on with batch 2\n"
    )
    assert numbers(checkpoint) == (7, 7)
    after = contents(checkpoint)
    changed = {name for name in before if after[name] != before[name]}
    assert changed == {"offsets/1", "state/0/_metadata/metadata"} and len(after) == len(before)
    old, new = (
        (json.loads(line) if line.startswith("{") else line for line in text.decode().split("\n"))
        for text in (before["offsets/1"], after["offsets/1"])
    )
    for one, other in zip(old, new, strict=True):
        if isinstance(one, dict) and "conf" in one:
            one["conf"][STORES] = "7"
        assert one == other
    assert "7 stores already" in call(checkpoint, "--stores", 7).stdout


def test_a_crash_leaves_the_old_number_or_the_new_one(
    checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*arguments: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(rescaling, "replace", crash)
        with pytest.raises(KeyboardInterrupt):
            rescale(str(checkpoint), 7)
    assert numbers(checkpoint) == (200, 200)
    with monkeypatch.context() as patch:
        patch.setattr(state_files, "replace", crash)
        with pytest.raises(KeyboardInterrupt):
            rescale(str(checkpoint), 7)
    assert numbers(checkpoint) == (7, 200)  # the log decides; the metadata follow it
    assert rescale(str(checkpoint), 7).before == 7
    assert numbers(checkpoint) == (7, 7)


def uncommitted(checkpoint: Path) -> None:
    (checkpoint / "commits" / "1").unlink()


def without_commits(checkpoint: Path) -> None:
    for path in (checkpoint / "commits").iterdir():
        path.unlink()


def without_batches(checkpoint: Path) -> None:
    without_commits(checkpoint)
    for path in (checkpoint / "offsets").iterdir():
        path.unlink()


def of_spark(checkpoint: Path) -> None:
    path = checkpoint / "offsets" / "1"
    (checkpoint / "offsets" / ".1.crc").unlink()
    path.write_text(path.read_text().replace("stateplan.runtime.state", "org.apache.HDFSBacked"))


def truncated(checkpoint: Path) -> None:
    (checkpoint / "offsets" / "1").write_text("v1\n{")


@pytest.mark.parametrize(
    ("prepare", "stores", "condition", "word"),
    [
        (uncommitted, 7, "STATE_REPARTITION_INVALID_CHECKPOINT.LAST_BATCH_FAILED", "batch ID 1"),
        (without_commits, 7, "STATE_REPARTITION_INVALID_CHECKPOINT.NO_COMMITTED_BATCH", "no comm"),
        (without_batches, 7, "STATE_REPARTITION_INVALID_CHECKPOINT.NO_BATCH_FOUND", "No microb"),
        (of_spark, 7, "STATEPLAN_STATE_OF_SPARK", "HDFSBacked"),
        (truncated, 7, "STATEPLAN_CHECKPOINT_CORRUPT", "offsets/1"),
        (shutil.rmtree, 7, "STATEPLAN_NO_CHECKPOINT", "checkpoint'"),
        (
            lambda checkpoint: None,
            0,
            "STATE_REPARTITION_INVALID_PARAMETER.IS_NOT_GREATER_THAN_ZERO",
            "numPartitions",
        ),
    ],
)
def test_what_cannot_be_rescaled(
    checkpoint: Path, prepare: Callable[[Path], None], stores: int, condition: str, word: str
) -> None:
    prepare(checkpoint)
    result = call(checkpoint, "--stores", stores)
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith(f"error: [{condition}] ") and word in result.stderr
    assert "\nhint: " in result.stderr and "Traceback" not in result.output


def test_not_while_the_query_runs(spark: SparkSession, checkpoint: Path, ran: Path) -> None:
    source = {"schema": "user STRING", "path": str(ran.parent / "in")}
    query = stateplan.sql(COUNT, sources={"events": source}, output_mode="update")
    running = query.run(spark, checkpoint=str(checkpoint), sink="noop", trigger="1 hour")
    try:
        result = call(checkpoint, "--stores", 7)
    finally:
        running.stop()
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("error: [") and "hint: " in result.stderr
    assert numbers(checkpoint) == (200, 200)
    assert call(checkpoint, "--stores", 7).exit_code == 0
