"""Aggregate buffers that Spark serialises as objects: their bytes, and the columns that we keep.

Counts of values (percentile, mode) are rows of a value and its count, each behind its size, and -1
in the end; a quantile summary, a histogram and a theta sketch have forms of their own. Each form
was seen in the checkpoints of live runs (tests/native_checkpoints).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ...planner.model.schemas.types import (
    LONG,
    ArrayType,
    DataType,
    StructField,
    StructType,
)
from ..kernels.columns.lists import lists_of
from ..kernels.columns.ordering import spread
from ..kernels.columns.texts import bytes_of, of_bytes
from ..kernels.sketches.bitmaps import padded
from ..kernels.sketches.quantile_columns import packed, unpacked
from ..kernels.sketches.quantiles import Summaries
from ..kernels.sketches.theta_sketches import entries_of, theta_sketches
from .unsafe_reading import BadRow, read_rows, stored_type
from .unsafe_writing import write_rows

Columns = list[Any]
_SAMPLE = np.dtype([("value", ">f8"), ("weight", ">i8"), ("span", ">i8")])
_SUMMARY = np.dtype([("threshold", ">i4"), ("error", ">f8"), ("count", ">i8"), ("size", ">i4")])
_COMPRESSED_FROM = 10_000
"""How many values a quantile summary of Spark's takes before it makes itself smaller."""


def element_of(kind: ArrayType) -> DataType:
    """What the first field of a list's elements is: the value of a pair."""
    assert isinstance(kind.element_type, StructType)
    return kind.element_type.fields[0].data_type


# ------------------------------------------------------------------------------ counts of values


def _count_schema(value: DataType) -> StructType:
    return StructType((StructField("value", value), StructField("count", LONG)))


def take_counts(column: Any, kind: ArrayType) -> Any:
    """Lists of values with their counts.

    Raises:
        BadRow: the bytes are none.
    """
    rows: list[bytes] = []
    lengths: list[int] = []
    for content in column.to_pylist():
        found = list(_framed(content))
        rows += found
        lengths.append(len(found))
    return _lists(read_rows(rows, _count_schema(element_of(kind))), lengths, kind)


def _framed(content: bytes) -> Iterator[bytes]:
    """Rows behind their sizes; -1 stands behind the last one."""
    place = 0
    while True:
        (size,) = struct.unpack_from(">i", content, place)
        place += 4
        if size < 0:
            return
        if place + size > len(content):
            raise BadRow("a count of values is cut off")
        yield content[place : place + size]
        place += size


def give_counts(column: Any, kind: ArrayType) -> Any:
    """The reverse of `take_counts`."""
    pairs, lengths = _elements(column)
    rows = write_rows(pairs.flatten(), _count_schema(element_of(kind)), len(pairs))
    framed = [struct.pack(">i", len(row)) + row for row in rows]
    end = struct.pack(">i", -1)
    return _joined(framed, lengths, lambda parts: b"".join(parts) + end)


# ---------------------------------------------------------------------------- quantile summaries


def take_quantiles(column: Any) -> Any:
    """Quantile summaries as `kernels/sketches/quantile_columns.py` keeps them.

    Raises:
        BadRow: the bytes are none.
    """
    content, ends = bytes_of(column)
    starts = ends[:-1].astype(np.int64) // _SAMPLE.itemsize
    lengths = np.diff(ends).astype(np.int64)
    if (lengths % _SAMPLE.itemsize).any() or not lengths.all():
        raise BadRow("a quantile summary is cut off")
    # What stands before the samples is as long as one.
    sizes = lengths // _SAMPLE.itemsize - 1
    heads = content.view(_SUMMARY)[starts]
    if (heads["size"] != sizes).any():
        raise BadRow("a quantile summary is cut off")
    samples = content.view(_SAMPLE)[spread(starts + 1, sizes)]
    summaries = Summaries(
        heads["error"].astype(np.float64),
        heads["count"].astype(np.int64),
        sizes,
        samples["value"].astype(np.float64),
        samples["weight"].astype(np.int64),
        samples["span"].astype(np.int64),
    )
    return packed(summaries)


def give_quantiles(column: Any, accuracy: int) -> Any:
    """The reverse of `take_quantiles`.

    Args:
        column: the summaries.
        accuracy: one by the relative error of those without values.
    """
    summaries = unpacked(column)
    lengths = summaries.sizes + 1
    ends = np.cumsum(lengths)
    records = np.zeros(int(lengths.sum()), _SAMPLE)
    heads = np.zeros(len(lengths), _SUMMARY)
    heads["threshold"], heads["count"] = _COMPRESSED_FROM, summaries.counts
    heads["error"] = np.where(summaries.sizes > 0, summaries.errors, 1.0 / accuracy)
    heads["size"] = summaries.sizes
    records[ends - lengths] = heads.view(_SAMPLE)
    samples = np.zeros(len(summaries.values), _SAMPLE)
    samples["value"], samples["weight"] = summaries.values, summaries.weights
    samples["span"] = summaries.spans
    records[spread(ends - lengths + 1, summaries.sizes)] = samples
    return of_bytes(records.view(np.uint8), np.append(0, ends * _SAMPLE.itemsize), pa.binary())


# ------------------------------------------------------------------------------------ histograms


def take_histogram(column: Any, kind: ArrayType) -> Any:
    """Lists of the centres and heights of a histogram's bins."""
    bins = [
        np.frombuffer(content, ">f8", 2 * struct.unpack_from(">i", content, 4)[0], 8)
        for content in column.to_pylist()
    ]
    points = np.concatenate([*bins, np.zeros(0)]).astype(np.float64).reshape(-1, 2)
    columns = [pa.array(np.ascontiguousarray(points[:, i])) for i in range(2)]
    return _lists(columns, [len(b) // 2 for b in bins], kind)


def give_histogram(column: Any, most: int) -> Any:
    """The reverse of `take_histogram`."""
    pairs, lengths = _elements(column)
    fields = [part.to_numpy(zero_copy_only=False) for part in pairs.flatten()]
    points = [row.tobytes() for row in np.stack(fields, axis=1).astype(">f8")]
    return _joined(points, lengths, lambda p: struct.pack(">ii", most, len(p)) + b"".join(p))


# -------------------------------------------------------------------------- sketches and bitmaps


def take_theta(column: Any, kind: Any, size: int) -> Any:
    """Lists of the least hashes of theta sketches, and their bounds.

    Raises:
        BadRow: one has a form that is not known here.
    """
    found = [entries_of(content, size) for content in column.to_pylist()]
    if any(one is None for one in found):
        raise BadRow("a theta sketch has another form")
    entries = [one for one in found if one is not None]
    values = pa.array(np.concatenate([*entries, np.zeros(0, np.int64)]).astype(np.int64))
    return lists_of(values, [len(one) for one in entries], kind)


def give_theta(column: Any, size: int) -> Any:
    """The reverse of `take_theta`."""
    return theta_sketches([column], size)


def give_bitmap(column: Any, empty: int) -> Any:
    """Bitmaps at their full length; one of no rows is all `empty`."""
    return padded([column], empty)


# ------------------------------------------------------------------------------------------ heaps


def take_heap(columns: Columns, kind: ArrayType) -> Any:
    """Lists of the pairs of a heap in its order, of arrays of their parts and of places in them."""
    values, orders, heaps = columns
    places: list[npt.NDArray[np.int64]] = []
    starts = values.offsets.to_numpy()[:-1].astype(np.int64)
    for start, content in zip(starts, heaps.to_pylist(), strict=True):
        (count,) = struct.unpack_from("<i", content)
        places.append(np.frombuffer(content, "<i4", count, 4).astype(np.int64) + start)
    chosen = pa.array(np.concatenate([*places, np.zeros(0, np.int64)]).astype(np.int64))
    # Both arrays have one length: as many as there may be.
    parts = [values.values.take(chosen), orders.values.take(chosen)]
    return _lists(parts, [len(p) for p in places], kind)


def give_heap(column: Any, most: int) -> Columns:
    """The reverse of `take_heap`."""
    pairs, lengths = _elements(column)
    ends = np.cumsum(lengths)
    numbers = np.arange(most)
    places = (ends - lengths)[:, None] + numbers
    missing = (numbers >= lengths[:, None]).ravel()
    chosen = pa.array(places.ravel(), pa.int64(), mask=missing)
    offsets = pa.array(np.arange(len(lengths) + 1) * most, pa.int32())
    arrays = [pa.ListArray.from_arrays(offsets, part.take(chosen)) for part in pairs.flatten()]
    heaps = [
        struct.pack("<i", n) + np.where(numbers < n, numbers, 0).astype("<i4").tobytes()
        for n in lengths.tolist()
    ]
    return [*arrays, pa.array(heaps, pa.binary())]


# ------------------------------------------------------------------------------------------ lists


def _elements(column: Any) -> tuple[Any, npt.NDArray[np.int64]]:
    """The elements of lists, and how many each has; null is an empty list."""
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
    return column.flatten(), lengths.astype(np.int64)


def _lists(columns: Sequence[Any], lengths: Sequence[int], kind: ArrayType) -> Any:
    """Lists of structs with some columns."""
    arrow = stored_type(kind)
    pairs = [c.cast(f.type) for c, f in zip(columns, arrow.value_type, strict=True)]
    elements = pa.StructArray.from_arrays(pairs, fields=list(arrow.value_type))
    return lists_of(elements, lengths, arrow)


def _joined(
    parts: Sequence[bytes],
    lengths: npt.NDArray[np.int64],
    join: Callable[[Sequence[bytes]], bytes],
) -> Any:
    ends = np.cumsum(lengths).tolist()
    starts = [0, *ends[:-1]] if ends else []
    return pa.array([join(parts[s:e]) for s, e in zip(starts, ends, strict=True)], pa.binary())
