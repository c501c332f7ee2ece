"""The grammar of Java's regular expressions that patterns.py knows, by recursive descent."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .program import Refused

TERMINATORS = "\n\r\x85\u2028\u2029"
_DIGITS = ((48, 57),)
_LOWER, _UPPER = ((97, 122),), ((65, 90),)
_WORD = (*_DIGITS, *_UPPER, (95, 95), *_LOWER)
_SPACE = ((9, 13), (32, 32))
_MARKS = ((33, 47), (58, 64), (91, 96), (123, 126))
_NEWLINES = tuple((ord(sign), ord(sign)) for sign in TERMINATORS)
_ESCAPES = {"d": _DIGITS, "w": _WORD, "s": _SPACE}
_CLASSES = {
    "Lower": _LOWER,
    "Upper": _UPPER,
    "ASCII": ((0, 127),),
    "Alpha": (*_UPPER, *_LOWER),
    "Digit": _DIGITS,
    "Alnum": (*_DIGITS, *_UPPER, *_LOWER),
    "Punct": _MARKS,
    "Graph": ((33, 126),),
    "Print": ((32, 126),),
    "Blank": ((9, 9), (32, 32)),
    "Cntrl": ((0, 31), (127, 127)),
    "XDigit": (*_DIGITS, (65, 70), (97, 102)),
    "Space": _SPACE,
}
"""Java's `\\p{...}` of ASCII; the other ones are of its own version of Unicode."""
_SIGNS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_LOOKS = ("?=", "?!", "?<=", "?<!")
_NAME = re.compile(r"\?<[A-Za-z][A-Za-z0-9]*>")
_MOST = 100
"""How often a part is repeated at most; all repetitions in one another stay below 1000."""

Ranges = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Part:
    """A part of a pattern: what RE2 is given, what `re` is given, whether it may be empty."""

    re2: str
    python: str
    empty: bool = False
    times: int = 1


class Reader:
    """Reads a pattern.

    Attributes:
        starts: how many `^` it has.
        ends: whether `$` is in it.
        bounds: whether `\\b` or `\\B` is in it.
        inside: whether `\\B` is.
        looks: whether it looks ahead or behind, which RE2 cannot.
        groups: how many groups Java counts.
    """

    def __init__(self, text: str, wanted: frozenset[int]) -> None:
        self.starts = 0
        self.ends = self.bounds = self.inside = self.looks = False
        self.groups = 0
        self._wanted = wanted
        self._names: set[str] = set()
        self._ignores_case = text.startswith("(?i)")
        self._text = text
        self._at = 4 if self._ignores_case else 0

    def whole(self) -> Part:
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

    def _either(self, *, outer: bool = False) -> Part:
        parts = [self._sequence(outer)]
        while self._peek() == "|":
            self._at += 1
            parts.append(self._sequence(outer))
        if len(parts) == 1:
            return parts[0]
        return Part(
            f"(?:{'|'.join(part.re2 for part in parts)})",
            f"(?:{'|'.join(part.python for part in parts)})",
            any(part.empty for part in parts),
            max(part.times for part in parts),
        )

    def _sequence(self, outer: bool) -> Part:
        parts: list[Part] = []
        if self._peek() == "^":
            self._at += 1
            self.starts += 1
            parts.append(Part(r"\A", r"\A", True))
        while self._peek() not in ("", "|", ")"):
            if self._peek() == "$":
                self._at += 1
                if not outer or self._peek() not in ("", "|"):
                    raise Refused(self._text)
                self.ends = True
                parts.append(Part(r"\z", rf"(?=(?:\r\n|[{TERMINATORS}])?\Z)(?<!\r(?=\n))", True))
                break
            parts.append(self._repeated())
        if not parts:
            raise Refused(self._text)
        return Part(
            "".join(part.re2 for part in parts),
            "".join(part.python for part in parts),
            all(part.empty for part in parts),
            max(part.times for part in parts),
        )

    def _repeated(self) -> Part:
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
        return Part(
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

    def _atom(self) -> Part:
        sign = self._take()
        match sign:
            case "(":
                return self._group()
            case "[":
                return self._set()
            case ".":
                return _ranges(_NEWLINES, negated=True)
            case "\\" if self._peek() in ("b", "B"):
                self.bounds = True
                if self._take() == "b":
                    return Part(r"\b", r"\b", True)
                self.inside = True
                return Part(r"\B", r"(?!\b)", True)  # `re` finds no \B in an empty text
            case "\\":
                known = self._escaped()
                if isinstance(known, str):
                    return self._literal(known)
                ranges, negated = known
                return _ranges(ranges, negated=negated)
            case "^" | "$" | "*" | "+" | "?" | "{":
                raise Refused(self._text)
        return self._literal(sign)

    def _literal(self, sign: str) -> Part:
        return _ranges(self._cased(((ord(sign), ord(sign)),)))

    def _escaped(self) -> str | tuple[Ranges, bool]:
        """The sign, or the set and whether it is all but that, behind a backslash."""
        sign = self._take()
        if sign in "pP":
            end = self._text.find("}", self._at)
            name = self._text[self._at + 1 : end]
            if self._peek() != "{" or name not in _CLASSES or self._ignores_case:
                raise Refused(self._text)
            self._at = end + 1
            return _CLASSES[name], sign == "P"
        if sign.lower() in _ESCAPES:
            return _ESCAPES[sign.lower()], sign.isupper()
        if sign in _SIGNS:
            return _SIGNS[sign]
        if not sign.isascii() or sign.isalnum():
            raise Refused(self._text)
        return sign

    def _group(self) -> Part:
        name = ""
        for look in _LOOKS:
            if self._peek(len(look)) == look:
                return self._look(look)
        if self._peek(2) == "?:":
            self._at += 2
        else:
            if self._peek() == "?":
                named = _NAME.match(self._text, self._at)
                if named is None or named[0] in self._names:
                    raise Refused(self._text)
                self._names.add(named[0])
                self._at = named.end()
            self.groups += 1
            if self.groups in self._wanted:
                name = f"g{self.groups}"
        inner = self._either()
        if self._take() != ")":
            raise Refused(self._text)
        opening = f"(?P<{name}>" if name else "(?:"
        return Part(f"{opening}{inner.re2})", f"{opening}{inner.python})", inner.empty, inner.times)

    def _look(self, look: str) -> Part:
        self._at += len(look)
        self.looks = True
        before = self.groups
        inner = self._either()
        if self._take() != ")" or self._wanted.intersection(range(before + 1, self.groups + 1)):
            raise Refused(self._text)
        python = f"({look}{inner.python})"
        try:
            re.compile(python)
        except re.error:  # behind, of a length that is not fixed
            raise Refused(self._text) from None
        return Part("", python, True, inner.times)

    def _set(self) -> Part:
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


def _ranges(ranges: Ranges, *, negated: bool = False) -> Part:
    """Code points, or all others."""
    opening = "[^" if negated else "["
    re2 = "".join(rf"\x{{{low:x}}}-\x{{{high:x}}}" for low, high in ranges)
    python = "".join(rf"\U{low:08x}-\U{high:08x}" for low, high in ranges)
    return Part(f"{opening}{re2}]", f"{opening}{python}]")
