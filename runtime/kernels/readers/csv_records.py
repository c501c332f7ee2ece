"""Where the records of a CSV file begin and end, and their letters in UTF-8."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..errors import not_exact
from ..file_parts import WHOLE, FilePart
from .compressed import opened
from .csv_options import NOTHING, CsvOptions
from .csv_tokens import BLANKS
from .line_files import BLOCK, BOM, blocks

BLANK_BYTES = BLANKS.encode()
_NEW_LINE, _RETURN = 10, b"\r"
_ENDS = re.compile(rb"\r?\n|\r")


def record_blocks(path: str, options: CsvOptions, part: FilePart = WHOLE) -> Iterator[bytes]:
    """The blocks of a file, a byte order mark at its beginning left out.

    Args:
        path: the file; compressed if its name says so.
        options: how it is written.
        part: which lines to read. Of a file with records of several lines the first part has all.

    Yields:
        Whole records, each with the separator of lines at its end; without one, with `\\n`.

    Raises:
        KernelError: the file is compressed in a way that is not read here, or damaged, or it is not
            known which records it ends with (`STATEPLAN_NOT_EXACT`).
    """
    if not options.multi_line:
        found = blocks(path, options.line_sep, part)
    elif part.start:
        return
    else:
        found = _of_several_lines(path, options)
    for block in found:
        yield _as_utf8(block, options.encoding)


def quotes_in(letters: Any, options: CsvOptions) -> Any:
    """The places of the quotes that begin and end values, by turns, if each is where it should be.

    Others are parts of values: those behind an escape that is not escaped itself, and those of
    values that do not begin with a quote.
    """
    found = _not_escaped(letters, options)
    if not odd_quotes(letters, found, options, *_RETURN).any():
        return found
    data, edges = letters.tobytes(), {ord(options.sep), _NEW_LINE, *_RETURN}
    doubled = options.quote.encode() if options.escape == options.quote else None
    kept: list[int] = []
    skipped = -1
    for place in found.tolist():
        if place == skipped:
            continue
        before = data[place - 1] if place else _NEW_LINE
        if len(kept) % 2 == 0:
            if before in edges or (options.leading and before in BLANK_BYTES):
                kept.append(place)
        elif data[place + 1 : place + 2] == doubled:
            skipped = place + 1
        else:
            kept.append(place)
    return np.array(kept, np.int64)


def odd_quotes(letters: Any, quotes: Any, options: CsvOptions, *more_edges: int) -> Any:
    """Which of the quotes that begin and end values, by turns, do not stand where one may.

    Args:
        letters, quotes: all letters, and the places of the quotes.
        options: how the records are written.
        more_edges: letters beside values, but for the separator and a new line.
    """
    edges = [ord(options.sep), _NEW_LINE, *more_edges]
    if options.escape == options.quote:
        edges.append(ord(options.quote))  # such a quote is doubled
    ends = np.arange(len(quotes)) % 2 == 1
    beside = letters.take(np.where(ends, quotes + 1, quotes - 1), mode="clip")
    odd = ~np.isin(beside, edges)
    odd[:1] &= quotes[:1] > 0  # the file's first letter
    return odd


def _not_escaped(letters: Any, options: CsvOptions) -> Any:
    found = np.flatnonzero(letters == ord(options.quote))
    escape = letters == ord(options.escape)
    if options.escape in (options.quote, NOTHING) or not escape[found - 1].any():
        return found
    # How many escapes stand before a quote: those behind the last letter that is none.
    others = np.where(escape, 0, np.arange(1, len(letters) + 1))
    before = found - np.maximum.accumulate(others)[found - 1]
    return found[(found == 0) | (before % 2 == 0)]


def outside(quotes: Any, places: Any) -> Any:
    """Those places that no quotes enclose."""
    return places[np.searchsorted(quotes, places) % 2 == 0]


def _of_several_lines(path: str, options: CsvOptions) -> Iterator[bytes]:
    rest, end = b"", b""
    with opened(path) as file:
        # Twice as much each time: a record may be as long as the file.
        while data := file.read(max(BLOCK, len(rest))):
            rest = (rest + data) if rest else data.removeprefix(BOM)
            end = end or _end_of_line(rest)
            letters = np.frombuffer(rest, np.uint8)
            ends = np.flatnonzero(letters == ord(end[-1:] or b"\n"))
            ends = outside(quotes_in(letters, options), ends)
            if len(ends):
                cut = int(ends[-1]) + 1
                yield _with_new_lines(path, rest[:cut], end, options)
                rest = rest[cut:]
    if rest:
        if options.leading and not rest.strip(BLANK_BYTES):
            raise not_exact(f"'{path}' ends with blanks alone and is not read as Spark would here.")
        end = end or (b"\r" if rest.endswith(b"\r") else b"\n")
        yield _with_new_lines(path, rest + end, end, options)


def _end_of_line(data: bytes) -> bytes:
    """What the first line ends with, which univocity takes for all; nothing: not known yet."""
    found = _ENDS.search(data)
    if found is None or (found[0] == b"\r" and found.end() == len(data)):
        return b""
    return found[0]


def _with_new_lines(path: str, data: bytes, end: bytes, options: CsvOptions) -> bytes:
    """Records whose lines end with `\\n`."""
    if b"\r" not in data:
        return data
    letters = np.frombuffer(data, np.uint8)
    quotes = quotes_in(letters, options)
    places = (np.flatnonzero(letters == letter) for letter in b"\r\n")
    returns, new_lines = (outside(quotes, ends) for ends in places)
    if end == b"\r" or (len(returns) and not np.array_equal(returns + 1, new_lines)):
        raise not_exact(
            f"'{path}' is not read as Spark would here: lines end with a carriage return, and "
            "'multiLine' is set."
        )
    return data.replace(b"\r\n", b"\n") if end == b"\r\n" else data


def _as_utf8(data: bytes, encoding: str) -> bytes:
    if encoding == "utf-8" or data.isascii():
        return data
    return data.decode(encoding, "replace").encode()
