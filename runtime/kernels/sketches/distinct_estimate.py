"""HyperLogLog++ as Spark computes it: from registers to the estimated number of distinct values."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..columns.lists import elements_of, rows_of

Numbers = npt.NDArray[np.float64]
Positions = npt.NDArray[np.int64]

# Up to these cardinalities counting the empty registers is better; for 4 to 18 bits.
_THRESHOLDS = (
    *(10, 20, 40, 80, 220, 400, 900, 1800, 3100),
    *(6500, 15500, 20000, 50000, 120000, 350000),
)
_NEIGHBOURS = 6
_ALPHAS = {4: 0.673, 5: 0.697, 6: 0.709}


def distinct_estimate(registers: Any, bits: int) -> Any:
    """The estimated number of distinct values per row, a bigint.

    Args:
        registers: lists of `index * 64 + rank`, 2^bits indexes; several ranks of one are allowed.
        bits: how many bits choose the register.
    """
    count = 1 << bits
    rows, entries = highest_ranks(*elements_of(registers))
    used = np.bincount(rows, minlength=len(registers)).astype(np.float64)
    powers = np.bincount(rows, weights=np.exp2(-(entries & 63)), minlength=len(registers))
    empty = count - used
    alpha = _ALPHAS.get(bits, 0.7213 / (1.0 + 1.079 / count))
    raw = alpha * count * count / (powers + empty)
    with np.errstate(divide="ignore"):
        linear = count * np.log(count / empty)
    threshold = _THRESHOLDS[bits - 4] if bits < 19 else 0
    is_linear = (empty > 0) & ((linear <= threshold) | (raw <= 2.5 * count))
    estimate = np.where(is_linear, linear, _corrected(raw, bits))
    return pa.array(np.floor(estimate + 0.5).astype(np.int64))


def highest_ranks(values: Any, lengths: Positions) -> tuple[Positions, Positions]:
    """The row and the value of each register's highest entry, ordered by row and index."""
    numbers = np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.int64)
    rows = rows_of(lengths)
    keys = np.sort(rows << 32 | numbers)
    if not len(keys):
        return keys, keys
    registers = keys >> 6
    last = np.append(registers[1:] != registers[:-1], True)
    keys = keys[last]
    return keys >> 32, keys & 0xFFFFFFFF


def _corrected(raw: Numbers, bits: int) -> Numbers:
    if bits >= 19:
        return raw
    biased = raw < 5.0 * (1 << bits)
    corrected = raw.copy()
    corrected[biased] -= _bias(raw[biased], bits)
    return corrected


def _bias(raw: Numbers, bits: int) -> Numbers:
    """The mean bias of the six tabled estimates nearest to each raw one, fewer past the last."""
    estimates, biases = _tables()[bits]
    low = np.maximum(np.searchsorted(estimates, raw) - _NEIGHBOURS + 1, 0)
    moving = np.arange(len(raw))
    while len(moving):
        moving = moving[low[moving] + _NEIGHBOURS < len(estimates)]
        at, given = low[moving], raw[moving]
        nearer = (given - estimates[at + _NEIGHBOURS]) ** 2 < (given - estimates[at]) ** 2
        moving = moving[nearer]
        low[moving] += 1
    width = np.minimum(low + _NEIGHBOURS, len(estimates)) - low
    padded = np.concatenate([biases, np.zeros(_NEIGHBOURS)])
    total = padded[low[:, None] + np.arange(_NEIGHBOURS)].sum(axis=1)
    mean: Numbers = total / width
    return mean


@cache
def _tables() -> dict[int, tuple[Numbers, Numbers]]:
    text = files(__package__).joinpath("distinct_bias.json").read_text("utf-8")
    data = json.loads(text)
    return {
        int(bits): (np.array(table["estimates"]), np.array(table["biases"]))
        for bits, table in data.items()
        if bits != "source"
    }
