"""The flights examples over every 2013 departure, against pandas over the whole table."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pandas as pd
import pytest
from engines import on_embedded

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


FILES_A_PORTION = 12


@pytest.fixture(scope="module")
def portions() -> list[list[pd.DataFrame]]:
    files = prepare.parts(prepare.reports())
    assert sum(map(len, files)) == 336_776
    return [files[i : i + FILES_A_PORTION] for i in range(0, len(files), FILES_A_PORTION)]


@pytest.fixture(scope="module")
def everything(portions: list[list[pd.DataFrame]]) -> pd.DataFrame:
    return pd.concat([rows for portion in portions for rows in portion], ignore_index=True)


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("reports")
    prepare.write(folder)
    return sorted(folder.glob("*.parquet"))


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    for description in EXAMPLES.glob("*.yaml"):
        shutil.copy(description, tmp_path)
    (tmp_path / "data").mkdir()
    return tmp_path


def run(session: SparkSession, examples: Path, reports: list[Path], name: str) -> pd.DataFrame:
    """Run a description once per portion of the files, from its checkpoint on."""
    for first in range(0, len(reports), FILES_A_PORTION):
        for path in reports[first : first + FILES_A_PORTION]:
            os.link(path, examples / "data" / path.name)
        stateplan.load(examples / f"{name}.yaml").run(session).await_termination()
    return session.read.parquet(str(examples / "out" / name)).toPandas()


def in_order(table: pd.DataFrame, *keys: str) -> pd.DataFrame:
    """Sorted by the keys, times as microseconds: UTC on both sides, whatever the session's zone."""
    for name in table.columns:
        if isinstance(table[name].dtype, pd.DatetimeTZDtype):
            table[name] = table[name].dt.tz_localize(None)
        if pd.api.types.is_datetime64_any_dtype(table[name]):
            table[name] = table[name].astype("datetime64[us]")
    return table.sort_values(list(keys), ignore_index=True)


def test_departures_per_hour(
    session: SparkSession, examples: Path, reports: list[Path], portions: list[list[pd.DataFrame]]
) -> None:
    want, late = reference.departures_per_hour(portions)
    assert late >= 10  # the example is worth its name: some reports come too late
    got = run(session, examples, reports, "departures-per-hour")
    pd.testing.assert_frame_equal(
        in_order(got, "hour", "carrier"),
        in_order(want, "hour", "carrier"),
        check_dtype=False,
        check_exact=True,
    )


@on_embedded
def test_aircraft_sessions(
    session: SparkSession, examples: Path, reports: list[Path], portions: list[list[pd.DataFrame]]
) -> None:
    want = reference.aircraft_sessions(portions)
    got = run(session, examples, reports, "aircraft-sessions")
    pd.testing.assert_frame_equal(
        in_order(got, "tailnum", "since"),
        in_order(want, "tailnum", "since"),
        check_dtype=False,
        check_exact=True,
    )


@on_embedded
def test_first_sighting(
    session: SparkSession,
    examples: Path,
    reports: list[Path],
    portions: list[list[pd.DataFrame]],
    everything: pd.DataFrame,
) -> None:
    got = run(session, examples, reports, "first-sighting").fillna({"tailnum": "none"})
    assert sorted(got["tailnum"]) == sorted(everything["tailnum"].fillna("none").unique())
    seen: set[str] = set()
    columns = ["tailnum", "carrier", "origin"]
    for portion in portions:
        for batch in reference.batches(portion):
            rows = batch.fillna({"tailnum": "none"})
            new = set(rows["tailnum"]) - seen
            chosen = got[got["tailnum"].isin(new)]
            matches = chosen.merge(rows[columns].drop_duplicates(), on=columns)
            assert len(matches) == len(new)  # one of the batch's own rows for each new aircraft
            seen |= new


@on_embedded
def test_first_thousand(
    session: SparkSession, examples: Path, reports: list[Path], everything: pd.DataFrame
) -> None:
    got = run(session, examples, reports, "first-thousand")
    assert len(got) == 1000
    long_delays = everything.query("delay > 120")
    keys = ["carrier", "flight", "delay"]
    assert len(got.merge(long_delays[keys].drop_duplicates(), on=keys)) == 1000


@on_embedded
def test_total(
    session: SparkSession, examples: Path, reports: list[Path], everything: pd.DataFrame
) -> None:
    for path in reports:
        os.link(path, examples / "data" / path.name)
    seen: list[tuple[object, ...]] = []
    query = stateplan.load(examples / "total.yaml").run(
        session, foreach_batch=lambda frame, _: seen.extend(map(tuple, frame.collect()))
    )
    query.await_termination()
    delay = everything["delay"]
    assert seen[-1] == (336_776, int(delay.notna().sum()), delay.max())
    sizes = [len(rows) for rows in reference.batches(prepare.parts(everything))]
    assert [row[0] for row in seen] == list(pd.Series(sizes).cumsum())
