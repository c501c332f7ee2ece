"""The benchmark's harness on a handful of rows: the systems run, agree, and are reported."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE = Path(__file__).resolve().parent
# Files of JSON and Parquet, tables and sorts; --check runs all.
AGREEING = ("json-sliding", "table-join", "complete-sorted")


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Loads a module of the benchmark."""
    monkeypatch.syspath_prepend(str(HERE))
    return lambda name: importlib.import_module(f"benchmarks.{name}")


def _run(
    spark: SparkSession, load: Any, work: Any, system: str, root: Path, **settings: Any
) -> Any:
    return load("systems").run(work.job(system, root, root / f"to-{system}", **settings), spark)


@pytest.mark.parametrize("name", AGREEING)
def test_native_and_stateplan_emit_the_same(
    spark: SparkSession, load: Any, tmp_path: Path, name: str
) -> None:
    work = replace(load("work").tiny(load("works").WORKS[name], 60), warmup=0, batches=3, stores=1)
    tables = {n: replace(data, rows=200, parts=1) for n, data in work.tables.items()}
    work = replace(work, tables=tables)
    ours, native = (
        _run(spark, load, work, system, tmp_path, keep_rows=True) for system in ("spark", "native")
    )
    assert load("check").differing(native, ours, ordered=work.ordered) == ""
    assert any(native.kept.values())
    assert len(ours.seconds) == len(native.seconds) == work.batches


def test_runs_are_compared_kept_and_reported(
    spark: SparkSession, load: Any, tmp_path: Path
) -> None:
    report, results = load("report"), load("results")
    work = load("work").tiny(load("works").WORKS["large-state"])
    runs = {s: [_run(spark, load, work, s, tmp_path)] for s in ("native", "floor", "spark")}
    watched = load("job").Run(system="spark", seconds=(1,), rows=(200,), python_bytes=5_000_000)
    compared = report.Comparison(
        work=work, against="native", runs=runs, failures={}, memory={"spark": watched}
    )
    assert [runs[s][0].rows for s in ("native", "spark")] == [
        [work.streams["events"].data.rows]
    ] * 2
    assert runs["native"][0].state_rows == runs["spark"][0].state_rows > 0
    assert compared.disagreement() is None
    text = report.markdown([compared], "# here")
    assert "\n| large-state | " in text
    assert " s | - | 5 MB | - | " in text
    assert all(run.cpu_seconds > 0 for (run,) in runs.values())
    assert "addBatch" in report.phases(runs["spark"])
    load("plot").draw([compared], tmp_path / "plot.svg", "here")
    assert "<svg" in (tmp_path / "plot.svg").read_text()
    results.write(tmp_path / "r.json", [compared], "here")
    again = results.added(results.kept(tmp_path / "r.json"), [compared])
    assert [len(again), *(len(runs) for runs in again[0].runs.values())] == [1, 2, 2, 2]
    assert again[0].ratio("spark") == pytest.approx(compared.ratio("spark"))
    results.write_csv(tmp_path / "r.csv", again)
    assert len((tmp_path / "r.csv").read_text().splitlines()) == 7


def test_a_child_answers_with_the_error_of_its_job(load: Any, tmp_path: Path) -> None:
    work = replace(load("work").tiny(load("works").WORKS["stateless"]), tables={})
    job = replace(work.job("embedded", tmp_path, tmp_path / "c"), mode="sideways")
    child = subprocess.run(
        [sys.executable, "-m", "benchmarks.child"],
        input=json.dumps(load("contest").asdict(job)) + "\n",
        capture_output=True,
        text=True,
        cwd=HERE,
        check=True,
    )
    assert "sideways" in json.loads(child.stdout)["error"]


def test_data_are_the_same_each_time(load: Any, tmp_path: Path) -> None:
    tiny, works = load("work").tiny, load("works").WORKS
    for work in map(tiny, works.values()):
        for stream in work.streams.values():
            tables = [stream.data.table(number) for number in range(work.files)]
            assert tables == [stream.data.table(number) for number in range(work.files)]
            assert [table.num_rows for table in tables[work.preload_batches :]] == [200] * 3
    path = tiny(works["json-sliding"]).streams["orders"].data.path(tmp_path, 2)
    files = sorted(path.iterdir(), key=lambda p: p.stat().st_mtime)
    assert [p.name for p in files] == ["batch-00000-0.json", "batch-00001-0.json"]
    rows = [json.loads(line) for line in files[1].read_text(encoding="utf-8").splitlines()]
    assert rows[0].keys() == {
        *("id", "shop", "product", "country", "status", "quantity", "price", "ts")
    }
    assert {row["shop"] is None for row in rows} == {True, False}


def test_goals_are_held_against_the_floor_and_native(load: Any) -> None:
    report, works, job = load("report"), load("works"), load("job")

    def runs(seconds: float, state_rows: int = 10) -> Any:
        run = job.Run(
            system="any", seconds=(seconds,), rows=(1000,), state_rows=state_rows, operators=2
        )
        return [run]

    compared = report.Comparison(
        work=works.WORKS["dedup-chain"],
        against="native",
        runs={"native": runs(2.0), "floor": runs(1.0), "spark": runs(1.25, 11)},
        failures={"embedded": "RuntimeFailure: REFUSED"},
        memory={},
    )
    text = report.markdown([compared], "# here")
    assert "| 1.6x | 1.3x, 1.30 s: yes | fails | - | 4x: no |" in text
    assert "dedup-chain FAILS on embedded: RuntimeFailure: REFUSED" in text
    assert "DIFFERENT STATE: dedup-chain: rows in the state {'native': [10], 'spark': [11]}" in text
    slower = replace(compared, runs={**compared.runs, "spark": runs(1.31)})
    assert slower.reached("spark") is False


def test_what_differs_between_two_runs_is_found(load: Any) -> None:
    differing, job = load("check").differing, load("job")

    def run(rows: list[str], watermark: str = "2026") -> Any:
        return job.Run(
            system="any", seconds=(), rows=(), watermarks={"0": watermark}, kept={"0": rows}
        )

    assert differing(run(["a", "b"]), run(["b", "a"]), ordered=False) == ""
    assert differing(run(["a", "b"]), run(["b", "a"]), ordered=True) == (
        "batch 0: 2 rows, native 2; first b, native a"
    )
    assert differing(run(["a"]), run(["a", "a"]), ordered=False) == "batch 0: 2 rows, native 1"
    assert "watermarks" in differing(run(["a"]), run(["a"], "2027"), ordered=False)
