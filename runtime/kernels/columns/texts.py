"""The bytes of a column of strings or binaries, and columns made of bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Bytes = npt.NDArray[np.uint8]
Ends = npt.NDArray[np.int32]
_STRING = pa.string()
_SHORT = 48
"""Up to so many bytes on average it is faster to take texts in turn than to have Arrow join them.
"""


def bytes_of(column: Any) -> tuple[Bytes, Ends]:
    """The bytes of all rows, one behind the other, and where each row begins and the last one ends.

    A null may have bytes, too.
    """
    _, offsets, data = column.buffers()
    if not len(column) or data is None:
        return np.zeros(0, np.uint8), np.zeros(len(column) + 1, np.int32)
    ends = np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1]
    content = np.frombuffer(data, np.uint8)[ends[0] : ends[-1]]
    return content, ends - ends[0]


def of_bytes(content: Any, ends: Any, kind: Any = _STRING, validity: Any = None) -> Any:
    """The reverse of `bytes_of`.

    Args:
        content: bytes of numpy.
        ends: where each row begins and the last one ends.
        kind: the type; strings by default.
        validity: the bits of Arrow's that say which rows are not null; None: all.
    """
    offsets = pa.py_buffer(np.ascontiguousarray(ends, np.int32))
    buffers = [validity, offsets, pa.py_buffer(np.ascontiguousarray(content))]
    return pa.Array.from_buffers(kind, len(ends) - 1, buffers)


def ends_of(lengths: Any) -> Any:
    """Where rows of some lengths begin, and the last one ends."""
    return np.append(0, np.cumsum(lengths))


def cut(content: Any, starts: Any, ends: Any, missing: Any = None) -> Any:
    """Parts of some bytes as strings.

    Args:
        content: bytes of numpy, in UTF-8.
        starts: where each part begins: not before the end of the one before it.
        ends: where each part ends.
        missing: of which rows there is none, a mask of numpy; None: of no row.
    """
    count = len(starts)
    if not count:
        return pa.array([], _STRING)
    # Arrow takes each second one of a column that has what lies between two parts, too.
    bounds = np.empty(2 * count, np.int32)
    bounds[::2], bounds[1::2] = starts, ends
    buffers = [None, pa.py_buffer(bounds), pa.py_buffer(np.ascontiguousarray(content))]
    parts = pa.Array.from_buffers(_STRING, 2 * count - 1, buffers)
    return parts.take(pa.array(np.arange(0, 2 * count, 2, dtype=np.int32), mask=missing))


def concatenated(*parts: Any, between: str = "") -> Any:
    """The texts of each row, one behind the other; null where one of them is.

    Args:
        parts: columns of one length, strings or binaries; a `str` or an Arrow scalar stands in
            every row.
        between: what stands between two parts.
    """
    kind = next((part.type for part in parts if not isinstance(part, str)), _STRING)
    pieces: list[Any] = []
    for place, part in enumerate(parts):
        for piece in (between, part) if between and place else (part,):
            if isinstance(piece, str) and pieces and isinstance(pieces[-1], str):
                pieces[-1] += piece
            else:
                pieces.append(piece)
    pieces = [pa.scalar(piece, kind) if isinstance(piece, str) else piece for piece in pieces]
    columns = [piece for piece in pieces if isinstance(piece, pa.Array)]
    size = sum(len(bytes_of(column)[0]) for column in columns)
    if not columns or size > _SHORT * len(columns) * len(columns[0]):
        return pc.binary_join_element_wise(*pieces, pa.scalar("", kind))
    return _taken_in_turn(pieces, len(columns[0]), kind)


def _taken_in_turn(pieces: Sequence[Any], rows: int, kind: Any) -> Any:
    """All texts in one column, those of a row next to each other: a row ends with its last."""
    texts, start, number = [], 0, len(pieces)
    places = np.empty((rows, number), np.int32 if rows * number < 2**31 else np.int64)
    for column, part in enumerate(pieces):
        if isinstance(part, pa.Array):
            places[:, column] = np.arange(start, start + rows, dtype=places.dtype)
        else:
            places[:, column] = start
            part = pa.array([part], kind)
        texts.append(part)
        start += len(part)
    taken = pc.take(pa.concat_arrays(texts), pa.array(places.ravel()), boundscheck=False)
    content, ends = bytes_of(taken)
    validity = None
    if taken.null_count:
        known = taken.is_valid().to_numpy(zero_copy_only=False).reshape(rows, number)
        validity = pa.py_buffer(np.packbits(known.all(axis=1), bitorder="little"))
    return of_bytes(content, ends[::number], kind, validity)
