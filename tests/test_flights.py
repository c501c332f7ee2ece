"""The flights examples over every 2013 departure, against pandas over the whole table."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pandas as pd
import pytest

import stateplan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parent / "examples" / "flights"


def module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = loaded
    spec.loader.exec_module(loaded)
    return loaded


prepare = module(EXAMPLES / "prepare.py")
reference = module(HERE / "flights_reference.py")


@pytest.fixture(scope="module")
def batches() -> list[pd.DataFrame]:
    parts: list[pd.DataFrame] = reference.batches(prepare.parts(prepare.reports()))
    assert sum(map(len, parts)) == 336_776
    return parts


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("flights")
    prepare.write(folder / "data")
    for description in EXAMPLES.glob("*.yaml"):
        shutil.copy(description, folder)
    return folder


def run(spark: SparkSession, examples: Path, name: str) -> pd.DataFrame:
    query = stateplan.load(examples / f"{name}.yaml").run(spark)
    query.await_termination()
    assert query.exception() is None
    return spark.read.parquet(str(examples / "out" / name)).toPandas()


def in_order(table: pd.DataFrame, *keys: str) -> pd.DataFrame:
    """Sorted by the keys, times as microseconds: UTC on both sides, whatever the session's zone."""
    for name in table.columns:
        if isinstance(table[name].dtype, pd.DatetimeTZDtype):
            table[name] = table[name].dt.tz_localize(None)
        if pd.api.types.is_datetime64_any_dtype(table[name]):
            table[name] = table[name].astype("datetime64[us]")
    return table.sort_values(list(keys), ignore_index=True)


def test_departures_per_hour(
    spark: SparkSession, examples: Path, batches: list[pd.DataFrame]
) -> None:
    want, late = reference.departures_per_hour(batches)
    assert late > 20  # the example is worth its name: reports do come late
    got = run(spark, examples, "departures-per-hour")
    pd.testing.assert_frame_equal(
        in_order(got, "hour", "carrier"),
        in_order(want, "hour", "carrier"),
        check_dtype=False,
        check_exact=True,
    )


def test_aircraft_sessions(
    spark: SparkSession, examples: Path, batches: list[pd.DataFrame]
) -> None:
    want = reference.aircraft_sessions(batches)
    got = run(spark, examples, "aircraft-sessions")
    pd.testing.assert_frame_equal(
        in_order(got, "tailnum", "since"),
        in_order(want, "tailnum", "since"),
        check_dtype=False,
        check_exact=True,
    )


def test_first_sighting(spark: SparkSession, examples: Path, batches: list[pd.DataFrame]) -> None:
    got = run(spark, examples, "first-sighting")
    everything = pd.concat(batches)
    assert len(got) == everything["tailnum"].nunique() + 1  # no tail number is a key of its own
    firsts = pd.concat(rows.assign(batch=number) for number, rows in enumerate(batches)).groupby(
        "tailnum", dropna=False
    )["batch"]
    first_batch = firsts.min()
    for number, rows in enumerate(batches):
        names = set(first_batch.index[first_batch == number])
        chosen = got[got["tailnum"].isin(names)]
        assert len(chosen) == len(names)
        columns = ["tailnum", "carrier", "origin"]
        assert len(chosen.merge(rows[columns].drop_duplicates(), on=columns)) == len(names)


def test_first_thousand(spark: SparkSession, examples: Path, batches: list[pd.DataFrame]) -> None:
    got = run(spark, examples, "first-thousand")
    assert len(got) == 1000
    long_delays = pd.concat(batches).query("delay > 120")
    keys = ["carrier", "flight", "delay"]
    assert len(got.merge(long_delays[keys].drop_duplicates(), on=keys)) == 1000


def test_total(spark: SparkSession, examples: Path, batches: list[pd.DataFrame]) -> None:
    seen: list[tuple[object, ...]] = []
    query = stateplan.load(examples / "total.yaml").run(
        spark, foreach_batch=lambda frame, _: seen.extend(map(tuple, frame.collect()))
    )
    query.await_termination()
    table = pd.concat(batches)
    assert seen[-1] == (336_776, int(table["delay"].notna().sum()), table["delay"].max())
    assert [row[0] for row in seen] == list(pd.Series(map(len, batches)).cumsum())
