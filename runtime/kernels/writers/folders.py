"""The directories that Spark puts rows into by the values of partition columns."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
"""Stands for null, and for an empty text."""
_ESCAPED = re.compile("[\x01-\x1f\"#%'*/:=?\\\\\x7f{\\[\\]^]")

_SIGN = re.compile("%([0-9A-Fa-f]{2})")


def folder_name(text: str) -> str:
    """A name or value, without the signs that directories' names cannot have."""
    return _ESCAPED.sub(lambda found: f"%{ord(found[0]):02X}", text)


def unescaped(text: str) -> str:
    """A text of a directory's name with the signs that `folder_name` took out of it."""
    return _SIGN.sub(lambda found: chr(int(found[1], 16)), text)


def folder_texts(path: str, base: Path | None) -> dict[str, str]:
    """What the names of a file's directories say below `base`: texts by the names of columns.

    None where there is no base. The texts are as they stand: some signs of theirs may be escaped.
    """
    if base is None or "=" not in path:
        return {}
    folders = os.path.dirname(os.path.relpath(path, base)).split("/")
    pairs = (folder.partition("=") for folder in folders)
    return {unescaped(name): text for name, sign, text in pairs if sign}


def by_folder(
    names: Sequence[str], texts: Sequence[Any], rows: pa.Table
) -> Iterator[tuple[str, pa.Table]]:
    """Rows by the directory that they belong to, in the order of the directories.

    Args:
        names: the partition columns.
        texts: their values as strings, a column each.
        rows: what is divided.

    Yields:
        The directory's path below the output's, and its rows in their order.
    """
    if not names:
        yield "", rows
        return
    keys = [f"k{number}" for number in range(len(names))]
    filled = [pc.if_else(pc.equal(pc.fill_null(t, ""), ""), NO_VALUE, t) for t in texts]
    places = pa.array(range(rows.num_rows), pa.int64())
    groups = pa.table([*filled, places], names=[*keys, "place"]).group_by(keys)
    found = groups.aggregate([("place", "list")]).sort_by([(key, "ascending") for key in keys])
    for group in range(found.num_rows):
        values = [found.column(key)[group].as_py() for key in keys]
        parts = [
            f"{folder_name(name)}={folder_name(value)}"
            for name, value in zip(names, values, strict=True)
        ]
        yield "/".join(parts), rows.take(found.column("place_list")[group].values)
