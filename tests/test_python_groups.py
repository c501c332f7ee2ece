"""Python functions over groups, called in this process: the order of rows, batches, errors."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

from stateplan.planner.model.errors import StateplanError
from stateplan.runtime.engines.python_groups import _turned
from stateplan.testing import StreamTest

EVENTS = {"events": "id INT, k LONG"}
IDS = "ids STRING"


def inserted(nulls: list[bool]) -> list[int]:
    """Rows as Spark's UnsafeInMemorySorter takes them in, one after the other."""
    rows: list[int] = []
    first = 0
    for row, null in enumerate(nulls):
        rows.append(row)
        if null:
            rows[first], rows[-1] = rows[-1], rows[first]
            first += 1
    return rows


@pytest.mark.parametrize("seed", range(40))
def test_rows_with_nulls_are_taken_in_as_spark_does(seed: int) -> None:
    chance = random.Random(seed)
    often = chance.random()
    sizes = [chance.randrange(1, 30) for _ in range(chance.randrange(1, 4))]
    parts = [[chance.random() < often for _ in range(size)] for size in sizes]
    wanted = [
        sum(sizes[:place]) + row for place, nulls in enumerate(parts) for row in inserted(nulls)
    ]
    places = np.repeat(np.arange(len(sizes)), sizes)
    assert _turned(places, np.concatenate(parts)).tolist() == wanted


def answer(query: Any, rows: list[Any], **settings: str) -> list[Any]:
    with StreamTest(query, EVENTS, engine="embedded", conf=settings, ordered=True) as test:
        return test.add("events", rows).run()


def ids(rows: Any) -> Any:
    return pd.DataFrame({"ids": [",".join(map(str, rows["id"]))]})


@pytest.mark.embedded
def test_rows_come_in_the_order_of_sparks_shuffle_and_sort() -> None:
    """One shuffle partition in AQE's reader; nulls turn the rows before them (a live Spark's)."""
    keys = [2, None, 2, 1, None, 2, 1, 2]
    rows = [{"id": i, "k": k} for i, k in enumerate(keys)]
    found = answer(
        lambda events: events.groupBy("k").applyInPandas(ids, IDS),
        rows,
        **{"spark.sql.shuffle.partitions": "1"},
    )
    assert found == [("1,4",), ("3,6",), ("2,0,5,7",)]


@pytest.mark.embedded
def test_iterators_get_batches_as_long_as_the_setting_says() -> None:
    def each(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for batch in batches:
            yield ids(batch)

    rows = [{"id": i, "k": 1} for i in range(5)]
    found = answer(
        lambda events: events.groupBy("k").applyInPandas(each, IDS),
        rows,
        **{"spark.sql.execution.arrow.maxRecordsPerBatch": "2"},
    )
    assert found == [("0,1",), ("2,3",), ("4",)]


@pytest.mark.embedded
@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda rows: 1 / 0, "ZeroDivisionError: division by zero"),
        (lambda rows: 1, r"\[UDF_RETURN_TYPE\] .* but is int"),
        (lambda rows: rows[["k"]], r"\[RESULT_COLUMN_NAMES_MISMATCH\] .* Missing: ids"),
    ],
    ids=["raises", "no-frame", "other-columns"],
)
def test_what_fails_in_a_function_has_sparks_condition(function: Any, words: str) -> None:
    with pytest.raises(StateplanError, match=words) as failed:
        answer(
            lambda events: events.groupBy("k").applyInPandas(function, IDS),
            [{"id": 1, "k": 1}],
        )
    assert failed.value.condition == "PYTHON_EXCEPTION"
