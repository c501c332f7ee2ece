"""Java's regular expressions, as far as RE2 (Arrow's) provably finds the same.

Both take the leftmost match and, of those, what a search from left to right finds first. A pattern
is read by a small grammar, and each part of it is written out so that nothing is left to the
library: `\\d` as `[0-9]`, `.` as all but Java's five line terminators. What the grammar has not is
refused: references, sets of sets or of Unicode's, flags other than a leading `(?i)`, quantified
parts that may be empty. Python's `re`, text by text, is for what RE2 has not: `$` also stands
before a line terminator at a text's end, `\\b` is of Unicode in Java 17, and there is look-around.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from .pattern_grammar import Reader
from .program import Refused


@dataclass(frozen=True)
class Pattern:
    """A pattern in both dialects; the groups that are asked for are groups, the others are none.

    Attributes:
        re2: for texts that do not end with a line terminator, or where `ends` is false, and are of
            ASCII, or where `bounds` is false; None: for no text.
        python: for the others.
        starts: whether `^` is in it.
        ends: whether `$` is in it.
        bounds: whether `\\b` or `\\B` is in it.
        halves: whether Java may find it between the halves of a sign beyond U+FFFF.
        empty: whether it may match an empty text.
        groups: how many groups Java counts.
    """

    re2: str | None
    python: str
    starts: bool
    ends: bool
    bounds: bool
    halves: bool
    empty: bool
    groups: int


@cache
def translated(pattern: str, wanted: tuple[int, ...] = ()) -> Pattern:
    """A Java pattern.

    Args:
        pattern: the pattern.
        wanted: the groups that are asked for; 0 stands for the whole match. Group n of the result
            is `g{n}`.

    Raises:
        Refused: it is not in the grammar, or a group asked for is not there or is repeated.
    """
    reader = Reader(pattern, frozenset(wanted))
    whole = reader.whole()
    if any(group > reader.groups for group in wanted):
        raise Refused(pattern)
    re2, python = whole.re2, whole.python
    if 0 in wanted:
        re2, python = f"(?P<g0>{re2})", f"(?P<g0>{python})"
    return Pattern(
        None if reader.looks else re2,
        python,
        reader.starts > 0,
        reader.ends,
        reader.bounds,
        reader.inside or reader.looks,
        whole.empty,
        reader.groups,
    )


@cache
def replacement_parts(text: str, groups: int) -> tuple[str | int, ...]:
    """What Java puts for a match: texts, and groups by their numbers.

    Raises:
        Refused: a `$` or a backslash stands where Java fails, or names a group.
    """
    found: list[str | int] = []
    at = 0
    while at < len(text):
        sign, following = text[at], text[at + 1 : at + 2]
        at += 1
        if sign not in "\\$":
            found.append(sign)
            continue
        if not following or (sign == "$" and following not in "0123456789"):
            raise Refused(text)
        at += 1
        if sign == "\\":
            found.append(following)
            continue
        number = int(following)
        while text[at : at + 1] and text[at] in "0123456789":
            if number * 10 + int(text[at]) > groups:
                break
            number, at = number * 10 + int(text[at]), at + 1
        if number > min(groups, 9):
            raise Refused(text)
        found.append(number)
    return tuple(found)


def is_known(pattern: object, wanted: tuple[int, ...] = (), *, never_empty: bool = False) -> bool:
    """Whether a pattern is in the grammar."""
    if not isinstance(pattern, str):
        return False
    try:
        return not (translated(pattern, wanted).empty and never_empty)
    except Refused:
        return False


def is_splitting(pattern: object) -> bool:
    """Whether texts are divided by a pattern here: Arrow sees a text's begin in each rest anew."""
    if not is_known(pattern, never_empty=True):
        return False
    found = translated(str(pattern))
    return not (found.starts or found.ends or found.bounds or found.re2 is None)


def is_replacement(pattern: object, by: object) -> bool:
    """Whether matches of a pattern are replaced here."""
    if not isinstance(by, str) or not is_known(pattern, never_empty=True):
        return False
    try:
        parts = replacement_parts(by, translated(str(pattern)).groups)
    except Refused:
        return False
    return is_known(pattern, groups_of(parts))


def groups_of(parts: Sequence[str | int]) -> tuple[int, ...]:
    """The groups that a replacement names."""
    return tuple(sorted({part for part in parts if isinstance(part, int)}))
