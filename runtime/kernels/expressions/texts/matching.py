"""Functions of regular expressions, over whole columns with RE2."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...columns.distinct import each
from ...columns.ordering import valid
from ...columns.texts import bytes_of, of_bytes
from ..programs.patterns import TERMINATORS, Pattern, groups_of, replacement_parts, translated
from ..programs.program import Step
from ..values.lists_and_maps import lists
from ..values.vectors import Value


def matches(step: Step, text: Any, pattern: Value) -> Any:
    """`text RLIKE pattern`: whether there is a match."""
    found = translated(pattern.as_py())
    own = re.compile(found.python)
    return _both(
        found,
        text,
        lambda part: pc.match_substring_regex(part, found.re2),
        lambda value: own.search(value) is not None,
        pa.bool_(),
    )


def extracted(step: Step, text: Any, pattern: Value, group: Value) -> Any:
    """`regexp_extract`: a group of the first match; empty where there is none."""
    number = group.as_py()
    found = translated(pattern.as_py(), (number,))
    own = re.compile(found.python)

    def one(value: str) -> str:
        match = own.search(value)
        return (match[f"g{number}"] or "") if match else ""

    def column(part: Any) -> Any:
        part = pc.struct_field(pc.extract_regex(part, found.re2), f"g{number}")
        return part.fill_null("")

    result = _both(found, text, column, one, pa.string())
    return pc.if_else(text.is_valid(), result, pa.scalar(None, pa.string()))


def all_extracted(step: Step, text: Any, pattern: Value, group: Value) -> Any:
    """`regexp_extract_all`: a group of each match; empty where the match has no such group."""
    number = group.as_py()
    own = re.compile(translated(pattern.as_py(), (number,)).python)
    return each(
        text,
        lambda value: [match[f"g{number}"] or "" for match in own.finditer(value)],
        pa.list_(pa.string()),
    )


def replaced_matches(step: Step, text: Any, pattern: Value, by: Value, start: Value) -> Any:
    """`regexp_replace` from the first letter on."""
    parts = replacement_parts(by.as_py(), translated(pattern.as_py()).groups)
    wanted = groups_of(parts)
    found = translated(pattern.as_py(), wanted)
    # Groups are numbered in the order in which they open; the whole match is the first.
    rewrite = "".join(
        f"\\{wanted.index(part) + 1}" if isinstance(part, int) else part.replace("\\", "\\\\")
        for part in parts
    )
    own = re.compile(found.python)

    def put(match: re.Match[str]) -> str:
        return "".join(p if isinstance(p, str) else match[f"g{p}"] or "" for p in parts)

    return _both(
        found,
        text,
        lambda part: pc.replace_substring_regex(part, found.re2, rewrite),
        lambda value: own.sub(put, value),
        pa.string(),
    )


_PLAIN = re.compile(r"(?:[^\\.\[\]{}()*+?^$|]|\\[^0-9A-Za-z])+", re.DOTALL)
"""A pattern that stands for itself, but for backslashes before signs."""
_UNESCAPED = re.compile(r"\\([^0-9A-Za-z])", re.DOTALL)


def divided(step: Step, text: Any, pattern: Value, limit: Value) -> Any:
    """`split` without a limit; by nothing: into letters."""
    if not pattern.as_py():
        return _letters(text)
    plain = _UNESCAPED.sub(r"\1", pattern.as_py())
    if _PLAIN.fullmatch(pattern.as_py()):
        return pc.split_pattern(text, plain)  # in a fifth of the time
    return pc.split_pattern_regex(text, translated(pattern.as_py()).re2)


def _letters(text: Any) -> Any:
    own, ends = bytes_of(text)
    begins = np.flatnonzero((own & 0xC0) != 0x80)
    counts = np.diff(np.searchsorted(begins, ends))
    empty = (counts == 0) & valid(text)  # has one part, as empty
    letters = of_bytes(own, np.sort(np.concatenate([begins, ends[:-1][empty], ends[-1:]])))
    return lists(("array", ("element",), ("string",)), letters, counts + empty, text)


def _both(
    pattern: Pattern,
    text: Any,
    column: Callable[[Any], Any],
    one: Callable[[str], Any],
    kind: Any,
) -> Any:
    """RE2's results, and where it counts `re`'s for texts that end with a line terminator."""
    found = column(text)
    if not pattern.ends:
        return found
    ended = pc.match_substring_regex(text, rf"[{TERMINATORS}]\z").fill_null(False)
    if not ended.true_count:
        return found
    return pc.replace_with_mask(found, ended, each(text.filter(ended), one, kind))
