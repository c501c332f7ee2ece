"""Java's regular expressions, as far as RE2 (Arrow's) provably finds the same.

Both take the leftmost match and, of those, what a search from left to right finds first. A pattern
is read by a small grammar, and each part of it is written out so that nothing is left to the
library: `\\d` as `[0-9]`, `.` as all but Java's five line terminators. What the grammar has
not is refused: look-around, references, `\\b` (of Unicode in Java 17), sets of sets, flags other
than a leading `(?i)`, quantified parts that may be empty. `$` also stands before a line terminator
at a text's end: texts with one are for `re`, which has look-around.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from .program import Refused

TERMINATORS = "\n\r\x85\u2028\u2029"
_DIGITS = ((48, 57),)
_WORD = ((48, 57), (65, 90), (95, 95), (97, 122))
_SPACE = ((9, 13), (32, 32))
_NEWLINES = tuple((ord(sign), ord(sign)) for sign in TERMINATORS)
_ESCAPES = {"d": _DIGITS, "w": _WORD, "s": _SPACE}
_SIGNS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_MOST = 100
"""How often a part is repeated at most; all repetitions in one another stay below 1000."""

Ranges = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class _Part:
    """A part of a pattern: what RE2 is given, what `re` is given, whether it may be empty."""

    re2: str
    python: str
    empty: bool = False
    times: int = 1


@dataclass(frozen=True)
class Pattern:
    """A pattern in both dialects; the groups that are asked for are groups, the others are none.

    Attributes:
        re2: for texts that do not end with a line terminator, or where `ends` is false.
        python: for the others.
        starts: whether `^` is in it.
        ends: whether `$` is in it.
        empty: whether it may match an empty text.
        groups: how many groups Java counts.
    """

    re2: str
    python: str
    starts: bool
    ends: bool
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
    reader = _Reader(pattern, frozenset(wanted))
    whole = reader.whole()
    if any(group > reader.groups for group in wanted):
        raise Refused(pattern)
    re2, python = whole.re2, whole.python
    if 0 in wanted:
        re2, python = f"(?P<g0>{re2})", f"(?P<g0>{python})"
    return Pattern(re2, python, reader.starts > 0, reader.ends, whole.empty, reader.groups)


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
    """Whether texts are divided by a pattern here: Arrow looks for `^` in each rest anew."""
    if not is_known(pattern, never_empty=True):
        return False
    found = translated(str(pattern))
    return not (found.starts or found.ends)


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


class _Reader:
    """Reads a pattern by recursive descent."""

    def __init__(self, text: str, wanted: frozenset[int]) -> None:
        self.starts = 0
        self.ends = False
        self.groups = 0
        self._wanted = wanted
        self._ignores_case = text.startswith("(?i)")
        self._text = text
        self._at = 4 if self._ignores_case else 0

    def whole(self) -> _Part:
        found = self._either(outer=True)
        if self._at < len(self._text):
            raise Refused(self._text)
        return found

    def _peek(self, count: int = 1) -> str:
        return self._text[self._at : self._at + count]

    def _take(self) -> str:
        sign = self._peek()
        if not sign:
            raise Refused(self._text)
        self._at += 1
        return sign

    def _either(self, *, outer: bool = False) -> _Part:
        parts = [self._sequence(outer)]
        while self._peek() == "|":
            self._at += 1
            parts.append(self._sequence(outer))
        if len(parts) == 1:
            return parts[0]
        return _Part(
            f"(?:{'|'.join(part.re2 for part in parts)})",
            f"(?:{'|'.join(part.python for part in parts)})",
            any(part.empty for part in parts),
            max(part.times for part in parts),
        )

    def _sequence(self, outer: bool) -> _Part:
        parts: list[_Part] = []
        if self._peek() == "^":
            self._at += 1
            self.starts += 1
            parts.append(_Part(r"\A", r"\A", True))
        while self._peek() not in ("", "|", ")"):
            if self._peek() == "$":
                self._at += 1
                if not outer or self._peek() not in ("", "|"):
                    raise Refused(self._text)
                self.ends = True
                parts.append(_Part(r"\z", rf"(?=(?:\r\n|[{TERMINATORS}])?\Z)(?<!\r(?=\n))", True))
                break
            parts.append(self._repeated())
        if not parts:
            raise Refused(self._text)
        return _Part(
            "".join(part.re2 for part in parts),
            "".join(part.python for part in parts),
            all(part.empty for part in parts),
            max(part.times for part in parts),
        )

    def _repeated(self) -> _Part:
        before, starts = self.groups, self.starts
        part = self._atom()
        quantifier, times = self._quantifier()
        if not quantifier:
            return part
        inside = range(before + 1, self.groups + 1)
        fixed = part.empty or self.starts > starts or self._wanted.intersection(inside)
        if fixed or part.times * times >= 1000:
            raise Refused(self._text)
        least = quantifier[0] in "*?" or quantifier.startswith(("{0,", "{0}"))
        return _Part(
            f"(?:{part.re2}){quantifier}",
            f"(?:{part.python}){quantifier}",
            least,
            part.times * times,
        )

    def _quantifier(self) -> tuple[str, int]:
        sign, times = self._peek(), 1
        if sign not in ("*", "+", "?", "{"):
            return "", 1
        self._at += 1
        if sign == "{":
            end = self._text.find("}", self._at)
            low, comma, high = self._text[self._at : max(end, self._at)].partition(",")
            if not (low.isascii() and low.isdecimal()) or not (high or "0").isdecimal():
                raise Refused(self._text)
            times = max(int(low), int(high or low), 1)
            if times > _MOST or (high and int(low) > int(high)) or not high.isascii():
                raise Refused(self._text)
            self._at = end + 1
            sign = f"{{{int(low)}{comma}{int(high) if high else ''}}}"
        if self._peek() == "?":
            self._at += 1
            sign += "?"
        if self._peek() in ("*", "+", "?", "{"):
            raise Refused(self._text)
        return sign, times

    def _atom(self) -> _Part:
        sign = self._take()
        match sign:
            case "(":
                return self._group()
            case "[":
                return self._set()
            case ".":
                return _ranges(_NEWLINES, negated=True)
            case "\\":
                known = self._escaped()
                if isinstance(known, str):
                    return self._literal(known)
                ranges, negated = known
                return _ranges(ranges, negated=negated)
            case "^" | "$" | "*" | "+" | "?" | "{":
                raise Refused(self._text)
        return self._literal(sign)

    def _literal(self, sign: str) -> _Part:
        return _ranges(self._cased(((ord(sign), ord(sign)),)))

    def _escaped(self) -> str | tuple[Ranges, bool]:
        """The sign, or the set and whether it is all but that, behind a backslash."""
        sign = self._take()
        if sign.lower() in _ESCAPES:
            return _ESCAPES[sign.lower()], sign.isupper()
        if sign in _SIGNS:
            return _SIGNS[sign]
        if not sign.isascii() or sign.isalnum():
            raise Refused(self._text)
        return sign

    def _group(self) -> _Part:
        name = ""
        if self._peek() == "?":
            if self._peek(2) != "?:":
                raise Refused(self._text)
            self._at += 2
        else:
            self.groups += 1
            if self.groups in self._wanted:
                name = f"g{self.groups}"
        inner = self._either()
        if self._take() != ")":
            raise Refused(self._text)
        opening = f"(?P<{name}>" if name else "(?:"
        return _Part(
            f"{opening}{inner.re2})", f"{opening}{inner.python})", inner.empty, inner.times
        )

    def _set(self) -> _Part:
        negated = self._peek() == "^"
        self._at += negated
        ranges: list[tuple[int, int]] = []
        while not ranges or self._peek() != "]":
            one = self._member()
            if not isinstance(one, str):
                ranges += one
                continue
            last = one
            if self._peek() == "-" and self._peek(2) != "-]":
                self._at += 1
                found = self._member()
                if not isinstance(found, str) or found < one:
                    raise Refused(self._text)
                last = found
            ranges.append((ord(one), ord(last)))
        self._at += 1
        return _ranges(self._cased(tuple(ranges)), negated=negated)

    def _member(self) -> str | Ranges:
        sign = self._take()
        if sign in "[]^" or sign == self._peek() == "&":
            raise Refused(self._text)
        if sign != "\\":
            return sign
        known = self._escaped()
        if isinstance(known, str):
            return known
        ranges, negated = known
        if negated or self._peek(2)[:1] == "-" != self._peek(2)[1:].replace("]", "-"):
            raise Refused(self._text)
        return ranges

    def _cased(self, ranges: Ranges) -> Ranges:
        """With `(?i)`, ASCII letters of the other case too."""
        if not self._ignores_case:
            return ranges
        more = [
            (max(low, first) + shift, min(high, first + 25) + shift)
            for low, high in ranges
            for first, shift in ((65, 32), (97, -32))
            if max(low, first) <= min(high, first + 25)
        ]
        return (*ranges, *more)


def _ranges(ranges: Ranges, *, negated: bool = False) -> _Part:
    """Code points, or all others."""
    opening = "[^" if negated else "["
    re2 = "".join(rf"\x{{{low:x}}}-\x{{{high:x}}}" for low, high in ranges)
    python = "".join(rf"\U{low:08x}-\U{high:08x}" for low, high in ranges)
    return _Part(f"{opening}{re2}]", f"{opening}{python}]")
