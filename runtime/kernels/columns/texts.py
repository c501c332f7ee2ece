"""The bytes of a column of strings or binaries, and columns made of bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Bytes = npt.NDArray[np.uint8]
Ends = npt.NDArray[np.int32]
_STRING = pa.string()


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
