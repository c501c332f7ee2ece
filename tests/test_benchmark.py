"""The benchmark's harness on a handful of rows: both systems run, agree, and are reported."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE = Path(__file__).resolve().parent


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Loads a module of the benchmark."""
    monkeypatch.syspath_prepend(str(HERE))
    return lambda name: importlib.import_module(f"benchmarks.{name}")


@pytest.mark.parametrize("name", ["dedup", "large-state"])
def test_both_systems_keep_the_same_state(
    spark: SparkSession, load: Any, tmp_path: Path, name: str
) -> None:
    works, runs, report = load("works"), load("runs"), load("report")
    work = works.tiny(works.WORKS[name])
    ours = runs.run(spark, works.OURS, work, tmp_path, watch_memory=True)
    native = runs.run(spark, works.HDFS, work, tmp_path)
    assert ours.rows == native.rows == (work.data.rows,)
    assert ours.state_rows == native.state_rows > 0
    assert ours.python_bytes > 0
    compared = report.Comparison(
        work=work, against=works.HDFS, ours=[ours], native=[native], memory=ours
    )
    assert compared.disagreement() is None
    assert f"| {name} | native |" in report.markdown([compared], "# here")
    assert "addBatch" in report.phases([ours])
    load("plot").draw([compared], tmp_path / "plot.svg", "here")
    assert "<svg" in (tmp_path / "plot.svg").read_text()
    assert not list(tmp_path.glob("checkpoint-*"))
    results = load("results")
    results.write(tmp_path / "r.json", [compared], "here")
    again = results.added(results.kept(tmp_path / "r.json"), [compared])
    assert [len(again), len(again[0].ours), len(again[0].native)] == [1, 2, 2]
    assert again[0].ratio == pytest.approx(compared.ratio)
    results.write_csv(tmp_path / "r.csv", again)
    assert len((tmp_path / "r.csv").read_text().splitlines()) == 5


def test_data_are_the_same_each_time(load: Any, tmp_path: Path) -> None:
    data, works = load("data"), load("works")
    for work in map(works.tiny, works.WORKS.values()):
        tables = [work.data._table(number) for number in range(work.files)]
        assert tables == [work.data._table(number) for number in range(work.files)]
        assert [table.num_rows for table in tables[work.data.preload_batches :]] == [200] * 3
    path = works.tiny(works.WORKS["limit"]).data.path(tmp_path, 2)
    assert [p.name for p in sorted(path.iterdir(), key=lambda p: p.stat().st_mtime)] == [
        "batch-00000-0.parquet",
        "batch-00001-0.parquet",
    ]
    assert sum(data.file_sizes(path)) > 0


def test_a_figure_that_is_not_reached_and_states_that_differ_are_said(load: Any) -> None:
    works, runs, report = load("works"), load("runs"), load("report")

    def run(system: str, seconds: float, state_rows: int) -> Any:
        return runs.Run(
            system=system,
            seconds=(seconds,),
            rows=(1_000_000,),
            progress=(),
            state_rows=state_rows,
            state_bytes=5_000_000,
            python_bytes=None,
        )

    compared = report.Comparison(
        work=works.WORKS["window"],
        against=works.HDFS,
        ours=[run(works.OURS, 1.0, 10)],
        native=[run(works.HDFS, 2.0, 11)],
        memory=None,
    )
    text = report.markdown([compared], "# here")
    assert "2.0x (2.0-2.0) | 3x: no" in text
    assert "DIFFERENT STATE: window: state rows of stateplan [10], of native [11]" in text
