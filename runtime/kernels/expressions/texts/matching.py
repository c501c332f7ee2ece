"""Functions of regular expressions, over whole columns with RE2."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from unicodedata import category, ucd_3_2_0

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...columns.distinct import each
from ...columns.ordering import valid
from ...columns.texts import bytes_of, of_bytes
from ...errors import not_exact
from ..programs.pattern_grammar import TERMINATORS
from ..programs.patterns import Pattern, groups_of, replacement_parts, translated
from ..programs.program import Step
from ..values.lists_and_maps import lists
from ..values.vectors import Value


def matches(step: Step, text: Any, pattern: Value) -> Any:
    """`text RLIKE pattern`: whether there is a match."""
    found = translated(pattern.as_py())
    own = re.compile(found.python)
    return _both(
        "RLIKE",
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

    result = _both("regexp_extract", found, text, column, one, pa.string())
    return pc.if_else(text.is_valid(), result, pa.scalar(None, pa.string()))


def all_extracted(step: Step, text: Any, pattern: Value, group: Value) -> Any:
    """`regexp_extract_all`: a group of each match; empty where the match has no such group."""
    number = group.as_py()
    found = translated(pattern.as_py(), (number,))
    own = re.compile(found.python)

    def all_of(value: str) -> list[str]:
        return [match[f"g{number}"] or "" for match in own.finditer(value)]

    return each(text, _checked("regexp_extract_all", found, all_of), pa.list_(pa.string()))


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
        "regexp_replace",
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
    function: str,
    pattern: Pattern,
    text: Any,
    column: Callable[[Any], Any],
    one: Callable[[str], Any],
    kind: Any,
) -> Any:
    """RE2's results, and `re`'s for the texts that are for it."""
    checked = _checked(function, pattern, one)
    if pattern.re2 is None:
        return each(text, checked, kind)
    found = column(text)
    chosen = _for_re(pattern, text)
    if chosen is None or not chosen.true_count:
        return found
    return pc.replace_with_mask(found, chosen, each(text.filter(chosen), checked, kind))


def _for_re(pattern: Pattern, text: Any) -> Any | None:
    """Which texts are for `re`; None: none."""
    chosen = None
    if pattern.bounds:
        chosen = pc.invert(pc.string_is_ascii(text)).fill_null(False)
    if pattern.ends:
        ended = pc.match_substring_regex(text, rf"[{TERMINATORS}]\z").fill_null(False)
        chosen = ended if chosen is None else pc.or_(chosen, ended)
    return chosen


def _checked(function: str, pattern: Pattern, one: Callable[[str], Any]) -> Callable[[str], Any]:
    """`one`, which fails for a text in which Java may see other words or signs than `re`."""
    if not (pattern.bounds or pattern.halves):
        return one

    def is_odd(sign: str) -> bool:
        beyond = pattern.halves and sign > "\uffff"
        return beyond or (pattern.bounds and may_be_no_word(sign))

    def checked(text: str) -> Any:
        if not text.isascii() and (odd := next(filter(is_odd, text), None)) is not None:
            sees = r"in which a pattern with \b, \B or look-around may see otherwise than Java does"
            what = f"A text that {function} takes has U+{ord(odd):04X}, {sees}."
            raise not_exact(what, of_rows=True)
        return one(text)

    return checked


def may_be_no_word(sign: str) -> bool:
    """Whether a sign is of a word for Java or for `re` alone.

    Java counts letters, decimal digits and marks above a letter, `re` whatever has a number's
    value; letters of later versions of Unicode are none to an earlier one.
    """
    kind = category(sign)
    return kind in ("Mn", "Nl", "No") or (sign.isalnum() and ucd_3_2_0.category(sign) != kind)
