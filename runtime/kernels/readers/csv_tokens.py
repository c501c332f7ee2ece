"""Lines of CSV files as values, as univocity's CsvParser divides them with Spark's settings.

A clean value (between two quotes without an escape, or without quotes) is found with a regular
expression. Every other line goes through `_QuotedLine`, which takes the parser's steps one by one:
what it makes of quotes that are not escaped follows from their order, not from a rule.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..json.errors import Uncertain
from .csv_options import NOTHING, CsvOptions

Tokens = list[str | None]
"""The values of a line; None for one of which nothing is there."""

BLANKS = "".join(map(chr, range(33)))
"""What counts as a blank: Java's String.trim, and univocity."""
_BLANK_ENDS = tuple(BLANKS)
_MOST_LETTERS = 1 << 19
"""univocity's buffer has room for twice as many."""
_MOST_VALUES = 20_480


class Tokenizer:
    """Divides lines.

    Args:
        options: how files are read.
        selected: the places of the values that are read, where these are not all: univocity
            skips the others, and takes another escape for the end of one.
    """

    def __init__(self, options: CsvOptions, selected: Sequence[int] | None) -> None:
        self._options = options
        self._selected = None if selected is None else frozenset(selected)
        sep, quote = re.escape(options.sep), re.escape(options.quote)
        marks = {options.quote, options.escape, options.escape_escape}
        odd = "".join(map(re.escape, sorted(marks)))
        self._clean = re.compile(
            rf"(?:{quote}([^{odd}]*){quote}|((?!{quote})(?:(?!{sep}).)*))({sep}|$)", re.DOTALL
        )
        # Blanks in front of a quote, and a line's last value of blanks, are not for the pattern.
        self._plain = not (options.leading or options.trailing)
        # An empty value is for the steps where its second quote may count as escaped.
        pruned_by_quotes = selected is not None and options.escape == options.quote
        odd_empty = pruned_by_quotes or options.escape == NOTHING
        self._empty = options.quote * 2 if odd_empty else None

    def tokens(self, line: str, *, first: bool, split: bool) -> Tokens:
        """The values of a line.

        Args:
            line: it has a letter that is no blank.
            first: whether it is the first that a file's parser is given.
            split: whether Spark may read a file in parts, each with a parser of its own.

        Raises:
            Uncertain: nobody knows what Spark makes of it.
        """
        options = self._options
        if line.startswith("\ufeff"):
            raise Uncertain("a byte order mark")
        if len(line) > _MOST_LETTERS and not self._plain:
            raise Uncertain("very many letters")
        if options.quote not in line:
            found = self._unquoted(line, None if first else self._selected)
        else:
            found = self._quoted(line, first=first, split=split)
        if len(found) > _MOST_VALUES:
            raise Uncertain(f"more than {_MOST_VALUES} values")
        if (first or split) and options.leading != options.trailing:
            texts = (options.null_value if text is None else text for text in found)
            if any(text and not text.strip(BLANKS) for text in texts):
                raise Uncertain("blanks alone as a value")  # univocity fails over a first line's
        return found

    def _unquoted(self, line: str, selected: frozenset[int] | None) -> Tokens:
        options = self._options
        values = line.split(options.sep)
        if options.trailing and not options.leading and line[0] <= " ":
            at = 0
            for place, value in enumerate(values[:-1]):
                at += len(value)
                if value and (selected is None or place in selected):
                    _check_beginning(line, at)
                at += 1
        if options.leading:
            values = [value.lstrip(BLANKS) for value in values]
        found: Tokens = [value or None for value in values]
        if options.trailing:
            found = [value.rstrip(BLANKS) or None for value in values]
        if not line.endswith(_BLANK_ENDS) or found[-1] is not None or line.endswith(options.sep):
            return found
        # Of a line's last value, where it is blank, univocity takes another way.
        if not options.leading:
            found[-1] = options.empty_value
        elif options.empty_value != options.null_value and not any(found):
            raise Uncertain("blanks alone, and 'emptyValue' is not 'nullValue'")
        return found

    def _quoted(self, line: str, *, first: bool, split: bool) -> Tokens:
        if len(line) > _MOST_LETTERS:
            raise Uncertain("very many letters")
        plain = self._plain and (self._empty is None or self._empty not in line)
        if plain and (found := self._by_pattern(line)) is not None:
            return found
        if len(self._options.sep) > 1:
            raise Uncertain("such quotes, and the separator has several characters")
        if "\0" in line:
            raise Uncertain("a zero byte")
        whole = _QuotedLine(line, self._options, None).tokens()
        if self._selected is None or first:
            return whole
        pruned = _QuotedLine(line, self._options, self._selected).tokens()
        if split and self._read(pruned) != self._read(whole):
            raise Uncertain("an escape in a value that is not read")
        return pruned

    def _read(self, tokens: Tokens) -> Tokens:
        assert self._selected is not None
        return [token for place, token in enumerate(tokens) if place in self._selected]

    def _by_pattern(self, line: str) -> Tokens | None:
        """The values, if all are clean."""
        options = self._options
        several = len(options.sep) > 1
        found: Tokens = []
        at = 0
        while True:
            value = self._clean.match(line, at)
            if value is None:
                return None
            if several and value[1] is not None and self._selected is not None:
                return None  # the quotes of a value that is skipped count for nothing
            if several and not value[3] and (value[2] or "").endswith(options.quote):
                return None  # such a quote is doubled
            empty = None if value[1] is None else options.empty_value
            found.append(value[1] or value[2] or empty)
            if not value[3]:
                return found
            at = value.end()


def _check_beginning(line: str, end: int) -> None:
    """univocity looks for blanks beyond a line's first letter, and fails."""
    if not line[:end].strip(BLANKS):
        raise Uncertain("blanks at its beginning, and 'ignoreTrailingWhiteSpace' is set")


class _End(Exception):
    """The line ends."""


class _QuotedLine:
    """One line, letter by letter, with a separator of one character.

    Attributes:
        _letter: the one that is looked at.
        _before: the one before it within a value, as far as it decides on quotes.
        _unescaped: whether a quote was found within a quoted value.
        _text: the letters of the value so far; None: the value is not read.
        _trim: whether blanks at the value's end are left out.
    """

    def __init__(self, line: str, options: CsvOptions, selected: frozenset[int] | None) -> None:
        self._line = line
        self._sep = options.sep
        self._quote = options.quote
        self._escape = options.escape
        self._escape_escape = options.escape_escape
        self._options = options
        self._selected = selected
        self._at = 0
        self._letter = line[0]
        self._before: str | None = None
        self._unescaped = False
        self._trim = False
        self._text: list[str] | None = []
        self._found: Tokens = []

    def tokens(self) -> Tokens:
        """The values."""
        self._begin_value()
        try:
            while self._value():
                pass
        except _End:
            self._end()
        return self._found

    # ------------------------------------------------------------------------------ the line

    def _next(self) -> None:
        self._at += 1
        if self._at >= len(self._line):
            raise _End
        self._letter = self._line[self._at]

    def _begin_value(self) -> None:
        read = self._selected is None or len(self._found) in self._selected
        self._text = [] if read else None

    def _give(self, value: str | None) -> None:
        self._found.append(value)
        self._begin_value()

    def _give_text(self) -> None:
        text = "".join(self._text or ())
        if self._trim:
            text = text.rstrip(BLANKS)
        self._give(text or self._options.empty_value)

    def _append(self, letters: str) -> None:
        if self._text is not None:
            self._text.append(letters)

    def _append_until(self, stops: str) -> None:
        first = self._letter
        try:
            while self._letter not in stops:
                self._append(self._letter)
                self._next()
        except _End:
            self._letter = first  # the parser looks at it again where the line ends
            raise

    def _value(self) -> bool:
        """Take a value and the separator behind it; whether there may be another."""
        if self._letter <= " " and self._options.leading:
            self._skip_blanks()
        if self._letter == self._sep:
            self._give(None)
        elif self._letter == self._quote:
            self._unescaped, self._before = False, NOTHING
            end = self._end_of_clean()
            if end is not None:
                self._give(self._line[self._at + 1 : end] or self._options.empty_value)
                self._at = end + 1
                if self._at + 1 >= len(self._line):
                    self._give(None)
                    return False
                self._next()
                return True
            self._trim = False
            self._quoted()
            self._give_text()
        else:
            self._unescaped, self._before = False, NOTHING
            end = self._line.find(self._sep, self._at)
            if end < 0:
                self._trim = self._options.trailing
                self._append_until("")
            text = self._line[self._at : end]
            if self._options.trailing and self._text is not None:
                _check_beginning(self._line, end)
            self._give((text.rstrip(BLANKS) if self._options.trailing else text) or None)
            self._at, self._letter = end, self._sep
        self._next()
        return True

    def _skip_blanks(self) -> None:
        first = self._letter
        try:
            while self._letter <= " " and self._letter not in (self._sep, self._quote):
                self._next()
        except _End:
            self._letter = first
            raise

    def _end_of_clean(self) -> int | None:
        """Where a value ends that is taken as it stands: at a quote and a separator."""
        line, at = self._line, self._at + 1
        marks = (self._quote, self._escape_escape)
        while at < len(line):
            letter, following = line[at], line[at + 1 : at + 2]
            if letter == self._quote:
                if line[at - 1] != self._escape:
                    return at if following == self._sep else None
                if self._text is not None:
                    return None
            elif letter == self._escape and self._text is not None and following in marks:
                return None
            at += 1
        return None

    def _end(self) -> None:
        """The line ends within a value, or behind a separator."""
        there = False
        if self._letter == self._quote and self._before == self._quote:
            there = True
        else:
            if self._letter == self._quote and not self._unescaped:
                self._append(self._quote)
            if self._before is None and self._letter != self._sep:
                self._uncertain()
            # '#' is the comment's letter where there are no comments, too.
            others = (self._sep, self._options.comment or "#")
            there = self._before != NOTHING and self._letter not in others
        if self._text or there:
            self._give_text()
        else:
            self._give(None)

    def _uncertain(self) -> None:
        if self._options.empty_value != self._options.null_value:
            raise Uncertain("blanks alone, and 'emptyValue' is not 'nullValue'")
        return

    # ------------------------------------------------------------------------- a quoted value

    def _quoted(self) -> None:
        """Take a quoted value up to its separator."""
        if self._before != NOTHING:
            if self._text is not None:
                self._text.insert(0, self._quote)
            self._next()
            self._trim = self._options.trailing
            self._append_until(self._sep)
            return
        self._next()
        while not (self._before == self._quote and self._is_end(self._letter)):
            if self._letter in (self._quote, self._escape):
                self._take_mark()
                self._before = self._letter
                self._next()
                if self._unescaped and self._letter == self._sep:
                    return
                continue
            if self._before == self._quote:
                self._unescaped = True
                self._append(self._quote + self._letter)
                self._before = self._letter
                self._quoted()
                return
            if self._before == self._escape != NOTHING:
                self._append(self._escape)
            self._append_until(self._quote + self._escape + self._escape_escape)
            self._before = self._letter
            self._next()
        if self._letter != self._sep:
            self._behind_quote()

    def _is_end(self, letter: str) -> bool:
        return letter <= " " or letter == self._sep

    def _behind_quote(self) -> None:
        """Take blanks behind the closing quote, and all behind them as a part of the value."""
        blanks = ""
        while True:
            blanks += self._letter
            self._next()
            if self._letter == self._sep:
                return
            if self._letter > " ":
                break
        self._append(self._quote + blanks + self._letter)
        self._before = self._letter
        self._quoted()

    def _take_mark(self) -> None:
        """Take a quote or an escape."""
        letter, before = self._letter, self._before
        if letter == self._escape and before == self._escape_escape != NOTHING:
            self._append(self._escape)
            self._letter = NOTHING
        elif before == self._escape:
            if letter == self._quote:
                self._append(self._quote)
                self._letter = NOTHING
            else:
                self._append(before)
        elif letter == self._quote and before == self._quote:
            self._append(self._quote)
        elif before == self._quote:
            self._take_unquoted()

    def _take_unquoted(self) -> None:
        """Take what follows a quote within a value up to the separator, escapes included."""
        self._append(self._quote)
        self._before = self._letter
        while self._letter != self._sep:
            if self._letter in (self._quote, self._escape):
                self._take_mark()
            elif self._before == self._quote:
                self._take_unquoted()
                return
            else:
                self._append(self._letter)
            self._before = self._letter
            self._next()
