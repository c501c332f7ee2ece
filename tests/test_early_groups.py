"""Rows that are grouped before they are hashed give what rows give that come one by one."""

from __future__ import annotations

import random
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import stateplan
from stateplan.planner.model.schemas.ddl import parse_schema
from stateplan.runtime.kernels.scans import early_groups
from stateplan.runtime.kernels.scans.early_groups import key_codes
from stateplan.runtime.sinks import MemorySink
from stateplan.runtime.sources import MemorySource

SQL = """
SELECT window(ts, '20 seconds', '5 seconds') AS w, shop, size,
    named_struct('shop', shop, 'size', size) AS both, count(*) AS n, sum(v) AS total,
    sum(price) AS paid, min(price) AS least, max(note) AS last_note, avg(v) AS mean,
    first(note, true) AS note, max_by(note, v) AS best, approx_count_distinct(v) AS kinds,
    collect_set(v % 5) AS rests, max_by(note, v % 3, 2) AS two, histogram_numeric(v, 3) AS points,
    hll_sketch_agg(v, 4) AS sketch, percentile_approx(v, array(0.2D, 0.7D), 9) AS shares
FROM STREAM orders WATERMARK ts DELAY OF INTERVAL 10 SECONDS GROUP BY 1, 2, 3, 4
"""
COLUMNS = "ts TIMESTAMP, shop STRING, size DOUBLE, v BIGINT, price DECIMAL(12, 2), note STRING"


def rows(batch: int, count: int) -> list[tuple[Any, ...]]:
    generator = random.Random(batch)
    some = generator.choice
    return [
        (
            np.datetime64(1_700_000_000 + 30 * batch + generator.randrange(30), "s").item(),
            some(("a", "b", "Zürich", "", None)),
            some((0.0, -0.0, float("nan"), 1.5, None)),
            some((None, i)),
            some((None, Decimal(generator.randrange(10**9) - 10**8).scaleb(-2))),
            some((None, f"{i:06}")),
        )
        for i in range(count)
    ]


def answer(checkpoint: Path, mode: str) -> tuple[list[Any], list[Any]]:
    source = MemorySource(parse_schema(COLUMNS), 3)
    sink = MemorySink()
    query = stateplan.sql(SQL, {"orders": COLUMNS}, mode, {"spark.sql.shuffle.partitions": "5"})
    figures = []
    for batch, count in enumerate((9_000, 50, 20_000)):
        source.add(rows(batch, count))
        started = query.run(
            engine="embedded",
            sources={"orders": source},
            sink=sink,
            trigger="available_now",
            checkpoint=str(checkpoint),
            background=False,
        )
        started.await_termination()
        for done in started.recent_progress:
            figures += [(s["numRowsTotal"], s["numRowsUpdated"]) for s in done.stateOperators]
    return sorted(map(_comparable, sink.rows()), key=repr), figures


def _comparable(row: Any) -> Any:
    return [sorted(v, key=repr) if isinstance(v, list) else repr(v) for v in row]


@pytest.mark.embedded
@pytest.mark.parametrize("mode", ["update", "append"])
def test_groups_and_rows_give_the_same(tmp_path: Path, mode: str) -> None:
    seen: list[bool] = []

    def watched(columns: Any, count: int, **settings: Any) -> Any:
        coded = key_codes(columns, count, **settings)
        seen.append(coded is not None)
        return coded

    with mock.patch.object(early_groups, "key_codes", watched):
        grouped = answer(tmp_path / "grouped", mode)
    assert True in seen and False in seen
    with mock.patch.object(early_groups, "key_codes", lambda *_, **__: None):
        assert answer(tmp_path / "rows", mode) == grouped
    assert len(grouped[0]) > 50


def test_codes_are_the_same_where_the_columns_are() -> None:
    generator = np.random.default_rng(5)
    numbers, names = generator.integers(0, 40, 9_000), generator.integers(0, 7, 9_000)
    text = pa.array([None if n == 3 else f"n{n}" for n in names])
    coded = key_codes([pa.array(numbers * 10**12), text], 9_000)
    assert coded is not None
    codes = coded.codes
    _, first = np.unique(codes, return_index=True)
    assert (coded.first == first).all()
    pairs = {(int(a), int(b)) for a, b in zip(codes, numbers * 7 + names, strict=True)}
    assert len(pairs) == len(set(codes.tolist())) == len(set((numbers * 7 + names).tolist()))
    parts = [pa.StructArray.from_arrays([text, pa.array(numbers)], ["t", "n"])]
    parts.append(pc.if_else(pa.array(numbers % 9 > 0), parts[0], pa.scalar(None, parts[0].type)))
    for column in parts:
        coded = key_codes([column], 9_000)
        assert coded is not None
        values = [repr(value) for value in column.to_pylist()]
        assert len(set(zip(values, coded.codes.tolist(), strict=True))) == len(set(values))
        assert len(set(values)) == len(set(coded.codes.tolist()))
    alone = key_codes([], 9_000)
    assert alone is not None and not alone.codes.any() and alone.first == [0]


def test_keys_of_three_rows_have_codes() -> None:
    names = (np.random.default_rng(5).random(300_000) ** 4 * 200_000).astype(np.int64)
    coded = key_codes([pa.array(names).cast(pa.string())], 300_000)
    assert coded is not None
    assert len(coded.first) == len(set(names.tolist()))
    assert (coded.codes[coded.first] == np.arange(len(coded.first))).all()


def test_nothing_is_grouped_that_stays_as_long() -> None:
    assert key_codes([pa.array(np.arange(9_000))], 9_000) is None
    assert key_codes([pa.array(np.arange(9_000) % 3)], 3_000) is None  # nor a few rows
    assert key_codes([pa.array([[1]] * 9_000)], 9_000) is None
    late = np.concatenate([np.zeros(3_000, np.int64), np.arange(6_000)])
    assert key_codes([pa.array(late)], 9_000) is None
