"""Files of lines, in blocks of whole lines: what the readers of JSON and CSV have in common."""

from __future__ import annotations

from collections.abc import Iterator

from .compressed import opened

BLOCK = 4 << 20
"""So many bytes are read at a time."""
BATCH = 1 << 16
"""So many rows has a record batch at most."""
_BOM = b"\xef\xbb\xbf"


def blocks(path: str, separator: bytes | None = None) -> Iterator[bytes]:
    """The blocks of a file, a byte order mark at its beginning left out.

    Args:
        path: the file; compressed if its name says so.
        separator: the one byte that ends a line; None: `\\n`, `\\r\\n` or `\\r` do.

    Yields:
        Whole lines, each with the separator at its end; without one, each with `\\n`.

    Raises:
        KernelError: the file is compressed in a way that is not read here, or damaged.
    """
    end = separator or b"\n"
    with opened(path) as file:
        rest = file.read(len(_BOM)).removeprefix(_BOM)
        while data := file.read(BLOCK):
            cut = data.rfind(end) + 1
            if not cut:
                rest += data
                continue
            yield _lines(rest + memoryview(data)[:cut], separator)
            rest = data[cut:]
    if rest:
        yield _lines(rest if rest.endswith(end) else rest + end, separator)


def _lines(block: bytes, separator: bytes | None) -> bytes:
    if separator is None and b"\r" in block:
        return block.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return block
