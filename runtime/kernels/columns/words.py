"""Columns of words with numbers (Arrow's dictionary arrays), several of them as one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa


def combinations(words: Sequence[Any]) -> list[Any]:
    """The words of several columns in all their combinations, a column each."""
    if len(words) == 1:
        return list(words)
    sizes = [len(own) for own in words]
    places = np.unravel_index(np.arange(math.prod(sizes)), sizes)
    return [own.take(pa.array(place)) for own, place in zip(words, places, strict=True)]


def numbers_of(columns: Sequence[Any]) -> npt.NDArray[np.integer[Any]]:
    """Which combination of their words columns have in each row; no number is null."""
    first, *others = columns
    numbers = first.indices.to_numpy()
    for column in others:
        numbers = numbers * np.int32(len(column.dictionary)) + column.indices.to_numpy()
    return np.asarray(numbers)
