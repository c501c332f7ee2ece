"""Rows that min, max, first, last, min_by and max_by choose: all at once as merged one by one."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given

from stateplan.runtime.kernels.aggregates.choices import fold_choice
from stateplan.runtime.kernels.aggregates.key_runs import CodedRuns, KeyRuns, SortedRuns
from stateplan.runtime.kernels.aggregates.merge import merge_columns

KEYS = 4
VALUES: dict[Any, list[Any]] = {
    pa.int32(): [-3, 0, 7],
    pa.float64(): [0.0, -0.0, float("nan"), float("inf"), -1.5],
    pa.bool_(): [True, False],
    pa.decimal128(10, 2): [Decimal("-1.25"), Decimal("0.50"), Decimal("3.00")],
    pa.decimal128(38, 0): [Decimal(10) ** 30, -(Decimal(10) ** 30), Decimal(1)],
    pa.timestamp("us"): [dt.datetime(1969, 1, 1), dt.datetime(2026, 1, 1)],
    pa.duration("us"): [dt.timedelta(days=-1), dt.timedelta(seconds=1)],
    pa.date32(): [dt.date(1969, 1, 1), dt.date(2026, 1, 1)],
}


def merged(operation: str, columns: list[Any], codes: Any) -> list[Any]:
    """The buffers of each key, row merged into row."""
    keys = []
    for key in range(KEYS):
        rows = [[c.take(pa.array([i])) for c in columns] for i in np.flatnonzero(codes == key)]
        found = rows[0]
        for row in rows[1:]:
            found = list(merge_columns(operation, found, row))
        keys.append(found)
    return [pa.concat_arrays(column) for column in zip(*keys, strict=True)]


@pytest.mark.parametrize("operation", ["min", "max", "first", "last", "min_by", "max_by"])
@given(data=st.data())
def test_the_rows_are_those_that_merging_leaves(operation: str, data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(list(VALUES)))
    codes = np.array([*range(KEYS), *data.draw(st.lists(st.integers(0, KEYS - 1), max_size=30))])
    drawn = st.sampled_from([None, *VALUES[kind]])
    values = pa.array(data.draw(st.lists(drawn, min_size=len(codes), max_size=len(codes))), kind)
    columns = [values]
    if operation in ("first", "last"):
        columns = [values, values.is_valid()]
    elif operation.endswith("_by"):
        columns = [pa.array(np.arange(len(codes))), values]
    order = np.argsort(codes, kind="stable")
    ordered = [column.take(pa.array(order)) for column in columns]
    heads = np.append(True, np.diff(codes[order]) > 0)
    ways: list[tuple[list[Any], KeyRuns]] = [
        (columns, CodedRuns(codes, KEYS)),
        (ordered, SortedRuns(np.flatnonzero(heads), len(codes))),
    ]
    expected = [column.to_pylist() for column in merged(operation, columns, codes)]
    for given_columns, runs in ways:
        found = fold_choice(operation, given_columns, runs)
        assert found is not None
        # As text: NaN is itself, and 0.0 is not -0.0.
        assert repr([column.to_pylist() for column in found]) == repr(expected)
