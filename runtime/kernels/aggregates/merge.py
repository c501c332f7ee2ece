"""Merging two partial results of each row's key: whole columns of pairs (earlier, later).

Every operation takes the buffer columns of the earlier and of the later partial results, row i of
one beside row i of the other, and gives the columns of the merged ones, of the same types. A null
buffer is that of no values. See `AggregateForms` for who names the operations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow.compute as pc

from ....planner.model.registry import Finish
from ..sketches.bitmaps import bitmap, merge_bytes, padded
from ..sketches.count_min import cells, count_min_sketch
from ..sketches.distinct_estimate import distinct_estimate
from ..sketches.histograms import histogram, histogram_points, merge_histograms
from ..sketches.hll_sketches import hll_sketches, merge_sketches
from ..sketches.hll_unions import merge_unions, union_or_empty, unions
from ..sketches.quantile_columns import (
    approximate_percentiles,
    merge_quantiles,
    quantile_summaries,
)
from ..sketches.theta_sketches import hashes, theta_sketches
from .choices import merge_by, merge_extremum, merge_first, merge_last
from .decimal_average import decimal_average
from .lists import LIST_MERGES, merge_lists, start_lists
from .moments import MOMENTS
from .percentiles import listagg, mode, percentile, percentile_disc
from .sets import set_in_order
from .sums import (
    merge_bits,
    merge_product,
    merge_sum,
    merge_sum_wrap,
    merge_try_sum,
    merge_try_sum_count,
)
from .top_values import ordered_values

Columns = list[Any]
Operation = Callable[..., Columns]


OPERATIONS: dict[str, Operation] = {
    "sum": merge_sum,
    "sum_wrap": merge_sum_wrap,
    "try_sum": merge_try_sum,
    "try_sum_count": merge_try_sum_count,
    "product": merge_product,
    "bit_and": merge_bits(pc.bit_wise_and),
    "bit_or": merge_bits(pc.bit_wise_or),
    "bit_xor": merge_bits(pc.bit_wise_xor),
    "min": merge_extremum(-1),
    "max": merge_extremum(1),
    "first": merge_first,
    "last": merge_last,
    "min_by": merge_by(-1),
    "max_by": merge_by(1),
    **{name: merge_lists(name) for name in LIST_MERGES},
    "bytes_and": merge_bytes("and"),
    "bytes_or": merge_bytes("or"),
    "histograms": merge_histograms,
    "quantiles": merge_quantiles,
    "hll_sketches": merge_sketches,
    "hll_unions": merge_unions,
    **{name: moments.merged for name, moments in MOMENTS.items()},
}


def merge_columns(
    operation: str,
    earlier: Sequence[Any],
    later: Sequence[Any],
    constants: Sequence[object] = (),
) -> Columns:
    """The buffer columns of earlier and later partial results, merged row by row.

    Args:
        operation: a name of `OPERATIONS`.
        earlier: an Arrow array per buffer of the operation.
        later: the same of what came after, of the same length and types.
        constants: what the operation needs besides.

    Raises:
        KernelError: a sum overflows where the session's mode does not let it.
    """
    if not len(earlier[0]):
        return list(earlier)
    return OPERATIONS[operation](list(earlier), list(later), *constants)


def start_column(kernel: str, values: Any, constants: Sequence[object]) -> Any:
    """The buffers that lists of values make, a row for each.

    Args:
        kernel: a name of `STARTS`.
        values: an Arrow array of lists.
        constants: what the kernel needs besides.

    Raises:
        KernelError: a value is not one that Spark takes.
    """
    return STARTS[kernel](values, *constants)


def finish_column(finish: Finish, buffers: Sequence[Any], result: Any) -> Any:
    """The one column that an aggregate's result is made of, of all its buffers.

    Args:
        finish: the kernel and its constants.
        buffers: an Arrow array per buffer.
        result: the Arrow type of the column.

    Raises:
        KernelError: a result does not fit its type where the session's mode does not let it.
    """
    typed = TYPED_FINISHERS.get(finish.kernel)
    if typed is not None:
        return typed(buffers, result, *finish.constants)
    return FINISHERS[finish.kernel](buffers, *finish.constants)


def _distinct_estimate(buffers: Sequence[Any], bits: int) -> Any:
    return distinct_estimate(buffers[0], bits)


def _decimal_average(buffers: Sequence[Any], precision: int, scale: int, lenient: bool) -> Any:
    return decimal_average(buffers[0], buffers[1], precision, scale, lenient)


FINISHERS: dict[str, Callable[..., Any]] = {
    "distinct_estimate": _distinct_estimate,
    "decimal_average": _decimal_average,
    "set_in_order": set_in_order,
    "percentile": percentile,
    "percentile_disc": percentile_disc,
    "mode": mode,
    "listagg": listagg,
    "padded": padded,
    "union_or_empty": union_or_empty,
    "theta_sketches": theta_sketches,
    "count_min_sketch": count_min_sketch,
    "ordered_values": ordered_values,
}

TYPED_FINISHERS: dict[str, Callable[..., Any]] = {
    "approximate_percentiles": approximate_percentiles,
    "histogram_points": histogram_points,
}


STARTS: dict[str, Callable[..., Any]] = {
    "bitmap": bitmap,
    "hashes": hashes,
    "cells": cells,
    "histogram": histogram,
    "quantiles": quantile_summaries,
    "hll_sketches": hll_sketches,
    "hll_unions": unions,
    "counts": start_lists("counts"),
    "top": start_lists("top"),
}
