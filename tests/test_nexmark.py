"""Nexmark's queries run: on a generated stream each gives what Spark gives of it as one batch.

`derive_nexmark.py` asks Spark.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from nexmark_cases import ANSWERS, NAMES, make_events, shown, stream_rows

KEPT: dict[str, Any] = json.loads(ANSWERS.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    made = tmp_path_factory.mktemp("nexmark")
    make_events(made)
    yield made


@pytest.mark.embedded
@pytest.mark.parametrize("name", NAMES)
def test_a_stream_has_the_answer_of_the_batch(name: str, folder: Path) -> None:
    _check(name, folder, "embedded")


@pytest.mark.parametrize("name", ["q4", "q11"])
def test_on_spark_too(name: str, folder: Path, spark: Any) -> None:
    _check(name, folder, "spark")


def _check(name: str, folder: Path, engine: str) -> None:
    rows = stream_rows(name, folder, engine)
    found = shown(name, rows)
    assert found[:2] == KEPT[name]["first"]
    assert len(found) == KEPT[name]["rows"] > 0
    assert sha256("\n".join(found).encode()).hexdigest() == KEPT[name]["sha256"]
    if name == "q5":
        _check_hot_items(rows, folder)


def _check_hot_items(rows: list[dict[str, Any]], folder: Path) -> None:
    """Whichever auction is named has as many bids as the row says."""
    bids = pq.read_table(folder / "open" / "bid", columns=["auction", "dateTime"])
    for row in rows:
        own = bids.filter(pc.equal(bids["auction"], row["auction"]))["dateTime"].to_pylist()
        assert sum(row["start"] <= time < row["end"] for time in own) == row["bids"]


def test_every_query_is_asked() -> None:
    assert sorted(KEPT) == sorted(NAMES) and len(NAMES) == 21
