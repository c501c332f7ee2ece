"""Doubles add up to what Structured Streaming adds up, to the last bit."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

import stateplan
from stateplan.runtime.kernels.aggregates.key_runs import SortedRuns
from stateplan.runtime.kernels.aggregates.moments import MOMENTS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SCHEMA = "k STRING, x DOUBLE, y DOUBLE, f FLOAT, i BIGINT, ts TIMESTAMP"
_SUMS = (
    *("sum(x)", "avg(x)", "try_sum(x)", "sum(f)", "avg(i)", "sum(x * y)", "regr_avgx(x, y)"),
    *("max(y)", "count(x)"),
)
_AGGREGATES = (
    *_SUMS,
    *("stddev(x)", "var_pop(x)", "stddev(i)", "skewness(x)", "kurtosis(x)"),
    *("corr(x, y)", "covar_samp(x, y)", "regr_r2(x, y)", "regr_slope(x, y)"),
)
_SLIDING = "window(ts, '20 seconds', '5 seconds'), k"
_CASES = {
    "rows of a key": ("k", _AGGREGATES),
    "sliding windows": (_SLIDING, _SUMS),
    "sessions": ("session_window(ts, '1 seconds'), k", _AGGREGATES),
}


def _write_batches(folder: Path) -> None:
    """Two batches of a file each: whole seconds, so that some sessions begin together."""
    random = np.random.default_rng(3)
    folder.mkdir()
    for batch in range(2):
        lines = []
        for _ in range(5_000):
            row = {
                "k": f"k{random.integers(25)}",
                "x": random.choice([random.normal(50, 20), -0.0, None], p=[0.9, 0.02, 0.08]),
                "y": None if random.random() < 0.05 else random.uniform(-1, 1),
                "f": float(random.integers(1_000)) / 7,
                "i": int(random.integers(-1_000, 1_000)),
                "ts": f"2026-01-01T00:{batch:02d}:{random.integers(60):02d}",
            }
            lines.append(json.dumps({name: v for name, v in row.items() if v is not None}))
        (folder / f"{batch}.json").write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize(("keys", "aggregates"), _CASES.values(), ids=_CASES)
def test_sums_averages_and_moments_are_those_of_structured_streaming(
    spark: SparkSession, tmp_path: Path, keys: str, aggregates: Sequence[str]
) -> None:
    _write_batches(tmp_path / "in")
    mode = "append" if "session" in keys else "update"
    columns = ", ".join(f"{text} AS a{i}" for i, text in enumerate(aggregates))
    select = f"SELECT {keys}, {columns} FROM {{}} GROUP BY {keys}"
    session = spark.newSession()
    session.conf.set("spark.sql.shuffle.partitions", "2")

    stream = session.readStream.schema(_SCHEMA).option("maxFilesPerTrigger", 1)
    stream.json(str(tmp_path / "in")).withWatermark("ts", "1 second").createOrReplaceTempView("t")
    native, take = _collector(len(aggregates))
    writer = session.sql(select.format("t")).writeStream.outputMode(mode).foreachBatch(take)
    writer = writer.option("checkpointLocation", str(tmp_path / "native"))
    writer.trigger(availableNow=True).start().awaitTermination()

    query = stateplan.sql(
        select.format("STREAM t WATERMARK ts DELAY OF INTERVAL 1 SECOND"),
        sources={"t": _SCHEMA},
        output_mode=mode,
        conf={"spark.sql.shuffle.partitions": "2"},
    )
    source = {"format": "json", "path": str(tmp_path / "in")}
    ours, take = _collector(len(aggregates))
    query.run(
        session,
        sources={"t": {**source, "options": {"maxFilesPerTrigger": "1"}}},
        sink=take,
        trigger="availableNow",
        checkpoint=tmp_path / "ours",
    ).awaitTermination()

    assert len(native) > 20
    differ = [
        (key, text, native[key][i], ours[key][i])
        for key in native
        for i, text in enumerate(aggregates)
        if native[key][i] != ours[key][i]
    ]
    assert not differ
    assert native.keys() == ours.keys()


def _collector(width: int) -> tuple[dict[str, list[Any]], Callable[[Any, int], None]]:
    """Rows by batch and key, floats with all of their bits."""
    rows: dict[str, list[Any]] = {}

    def take(frame: Any, batch: int) -> None:
        for row in frame.collect():
            key, values = row[:-width], row[-width:]
            rows[f"{batch} {key}"] = [v.hex() if isinstance(v, float) else v for v in values]

    return rows, take


@pytest.mark.parametrize("name", MOMENTS)
def test_long_runs_are_taken_in_at_once(name: str) -> None:
    random = np.random.default_rng(1)
    columns = [pa.array(np.ones(40_000)), *(pa.array(random.random(40_000)) for _ in range(5))]
    starts = np.array([0, 4_000])  # the second run is too long for one row after the other
    one, other = (np.array(c) for c in _taken_in(name, columns, starts))
    for run, rows in ((one, slice(0, 4_000)), (other, slice(4_000, None))):
        x, y = (np.asarray(columns[i])[rows] for i in (1, 2))
        dx, dy = x - x.mean(), y - y.mean()
        powers = [(dx**power).sum() for power in (2, 3, 4)]
        pairs = [y.mean(), (dx * dy).sum(), (dx * dx).sum(), (dy * dy).sum()]
        expected = [len(x), x.mean(), *(powers if name == "moments" else pairs)]
        assert np.allclose(run[: len(expected)], expected, rtol=1e-9, atol=1e-6)


def _taken_in(name: str, columns: list[Any], starts: Any) -> Any:
    width = 5 if name == "moments" else 6
    made = MOMENTS[name].of_rows(columns[:width], SortedRuns(starts, len(columns[0])))
    return zip(*(column.to_pylist() for column in made), strict=True)
