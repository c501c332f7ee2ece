"""Unions of HyperLogLog sketches that rows bring: hll_union_agg."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..columns.lists import elements_of, in_turns
from ..errors import KernelError
from .hll_sketch import Sketch, is_sketch

_FUNCTION = "`hll_union_agg`"

Int64 = npt.NDArray[np.int64]


def unions(values: Any) -> Any:
    """The union of each list of sketches; null of none.

    Raises:
        KernelError: sketches are of several sizes, or not of the form of hll_sketch_agg's.
    """
    items, lengths = elements_of(values)
    return _folded(items.to_pylist(), np.cumsum(lengths) - lengths, given=True)


def fold_unions(column: Any, starts: Int64) -> Any:
    """Runs of unions, united one after the other; nulls count for none."""
    return _folded(column.to_pylist(), starts, given=False)


def _folded(content: list[bytes | None], starts: Int64, *, given: bool) -> Any:
    bounds = [*starts.tolist(), len(content)]
    made = []
    for first, end in itertools.pairwise(bounds):
        union: Sketch | None = None
        for one in content[first:end]:
            if one is not None:
                union = _united(union, one, given)
        made.append(None if union is None else union.serialised())
    return pa.array(made, pa.binary())


def _united(union: Sketch | None, content: bytes, given: bool) -> Sketch:
    if not is_sketch(content):
        raise KernelError.of("HLL_INVALID_INPUT_SKETCH_BUFFER", function=_FUNCTION)
    sketch = Sketch.of(content)
    if union is not None and sketch.is_empty:
        return union
    if union is None or (union.is_empty and not sketch.has_registers):
        union = Sketch(sketch.bits)  # sketches without values may be of any size
    if union.bits != sketch.bits:
        raise KernelError.of(
            "HLL_UNION_DIFFERENT_LG_K", left=union.bits, right=sketch.bits, function=_FUNCTION
        )
    if given and not sketch.has_registers:
        # Where a sketch is a row's, its coupons are taken one by one, by nothing yet, too.
        union.add(sketch.coupons())
        return union
    return union.united(sketch)


def merge_unions(earlier: list[Any], later: list[Any]) -> list[Any]:
    """`hll_unions`: the union of both."""
    return [fold_unions(*in_turns(earlier[0], later[0]))]


def union_or_empty(buffers: Sequence[Any]) -> Any:
    """Each union; of no sketches that of 2^12 slots without values."""
    return buffers[0].fill_null(Sketch(12).serialised())
