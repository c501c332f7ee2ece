"""Constants and types in the text: numbers, strings, dates, intervals, parameters."""

from __future__ import annotations

import re

from ..model.errors import AnalysisError
from ..model.expressions.core import Expression, Literal, Origin
from ..model.schemas.ddl import parse_type
from ..model.schemas.types import BOOLEAN, NULL, STRING, DataType
from .cursor import Cursor
from .errors import marked, whole_text_error, with_fragment
from .literals import WrittenInterval, interval_literal, number_literal, typed_literal
from .parameters import parameter_value

# Words before a string that are not meant as the literal's type.
_NO_KINDS = frozenset(
    {"ALL", "AND", "ANY", "BETWEEN", "CASE", "DISTINCT", "DIV", "ELSE", "END", "ESCAPE", "EXISTS",
     "FALSE", "IN", "INTERVAL", "IS", "LIKE", "ILIKE", "NOT", "NULL", "OR", "REGEXP", "RLIKE",
     "SOME", "THEN", "TRUE", "WHEN"}
)  # fmt: skip
_SINGULAR_UNITS = (
    "NANOSECOND", "MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK",
    "MONTH", "YEAR",
)  # fmt: skip
_UNITS = frozenset((*_SINGULAR_UNITS, *(unit + "S" for unit in _SINGULAR_UNITS)))
_RANGE_UNITS = frozenset({"SECOND", "MINUTE", "HOUR", "DAY", "MONTH", "YEAR"})
_PLAIN_NUMBER = re.compile(r"\d+\.?\d*|\.\d+")
_STRING = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""", re.DOTALL)
_A_UNIT = "a unit such as SECONDS, MINUTES, HOURS or DAYS"
# Spark gives no position with these errors in type names.
_WITHOUT_PLACE = ("DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION", "UNSUPPORTED_TIME_TYPE")


class ConstantParser(Cursor):
    """Reads what stands for itself."""

    def constant(self) -> Expression | None:
        """A constant, or None."""
        start, token = self.index, self.token
        if token.kind == "string":
            return self._strings()
        if token.kind == "number" or (token.symbol == "-" and self.peek().kind == "number"):
            return self._number()
        if token.symbol == "?" or (token.symbol == ":" and self.peek().is_name):
            name = "" if self.take("?") else self._parameter_name()
            return self.built(lambda: parameter_value(name, self.text, token.start))
        if token.kind == "word":
            return self._word_constant(start)
        return None

    def _word_constant(self, start: int) -> Expression | None:
        word = self.token.symbol
        if self.peek().kind == "string" and word not in _NO_KINDS:
            kind = self.name().upper()
            text = self.string()
            origin = self.origin(start)
            return self.built(lambda: typed_literal(kind, text, self.conf, origin))
        if word == "INTERVAL":
            return self.attempt(self.interval)
        if self.peek().symbol == "(":
            return None
        if self.take("NULL"):
            return Literal(value=None, type_=NULL, origin=self.origin(start))
        if word in ("TRUE", "FALSE"):
            self.advance()
            # Spark's TRUE and FALSE are shared objects and stand nowhere.
            return Literal(value=word == "TRUE", type_=BOOLEAN)
        return None

    def _strings(self) -> Literal:
        """One or more strings, which are one."""
        start, text = self.index, ""
        while self.token.kind == "string":
            text += self.string()
        origin = self.origin(start)
        if self.conf.flag("spark.sql.parser.escapedStringLiterals"):
            parts = _STRING.findall(self.text, origin.start, origin.stop + 1)
            text = "".join(part[1:-1] for part in parts)
        return Literal(value=text, type_=STRING, origin=origin)

    def _number(self) -> Expression:
        start = self.index
        sign = "-" if self.take("-") else ""
        text = sign + self.token.text
        self.advance()
        origin = self.origin(start)
        return self.built(lambda: number_literal(text, origin))

    def _parameter_name(self) -> str:
        self.need(":")
        return self.name()

    # ---------------------------------------------------------------------------------- intervals

    def interval(self) -> Expression | None:
        """`INTERVAL 1 DAY 2 HOURS`, `INTERVAL '1 02' DAY TO HOUR`, `INTERVAL '1 day'`.

        None where INTERVAL is a column.
        """
        start = self.index
        written = self._written_interval()
        if written is None:
            return None
        origin, body = self.origin(start), self.origin(start + 1)
        return self.built(lambda: interval_literal(written, origin, body))

    def _written_interval(self) -> WrittenInterval | None:
        self.need("INTERVAL")
        values: list[str] = []
        units: list[str] = []
        quoted, to = False, ""
        before = self.index
        while (value := self._interval_value()) is not None:
            if self.token.symbol not in _UNITS:
                if values:
                    self.move(before)  # `INTERVAL 1 HOUR - 2`: the sign is an operator
                elif self.previous.kind == "string":
                    values.append(value)  # `INTERVAL '1 day 2 hours'`
                else:
                    self.fail(_A_UNIT)
                break
            values.append(value)
            quoted = quoted or self.previous.kind == "string"
            unit = self.token.symbol
            units.append(self.token.text)
            self.advance()
            if unit in _RANGE_UNITS and self.take("TO"):
                to = self.token.text
                if not self.take_one(_RANGE_UNITS):
                    self.fail(_A_UNIT)
                break
            before = self.index
        if not values:
            return None
        return WrittenInterval(values=tuple(values), units=tuple(units), to=to, quoted=quoted)

    def _interval_value(self) -> str | None:
        before = self.index
        sign = self.take_one("+-").replace("+", "")
        if self.token.kind == "string":
            return sign + self.string()
        if self.token.kind == "number":
            text = self.token.text
            if not _PLAIN_NUMBER.fullmatch(text):
                self.fail("a number without exponent and type")
            self.advance()
            return sign + text
        self.move(before)
        return None

    # -------------------------------------------------------------------------------------- types

    def data_type(self) -> DataType:
        """A type; its text is for the reader of schemas."""
        start = self.index
        self._skip_type()
        origin = self.origin(start)
        try:
            return parse_type(self.text[origin.start : origin.stop + 1])
        except AnalysisError as error:
            self.refuse(self._in_text(error, origin))
            return NULL

    def _skip_type(self) -> None:
        kind = self.name().upper()
        if kind in ("ARRAY", "MAP", "STRUCT") and self.take("<>"):
            return
        if kind == "STRUCT" and self.take("<"):
            while not self.take(">"):
                self._skip_field()
                self.take(",")
        elif kind in ("ARRAY", "MAP") and self.take("<"):
            self.listed(self._skip_type)
            self.need(">")
        elif kind == "INTERVAL" and self.take_one(_RANGE_UNITS):
            if self.take("TO"):
                self.name()
        elif self.take("("):
            self.listed(self._skip_size)
            self.need(")")
        elif kind == "STRING" and self.take("COLLATE"):
            self.name()

    def _skip_field(self) -> None:
        self.name()
        self.take(":")
        self._skip_type()
        self.take("NOT", "NULL")
        if self.take("COMMENT"):
            self.string()

    def _skip_size(self) -> None:
        if self.token.kind != "number":
            self.fail("a number")
        self.advance()

    def _in_text(self, error: AnalysisError, origin: Origin) -> AnalysisError:
        """An error of the type reader, which saw the type alone, in the whole text."""
        if error.condition in _WITHOUT_PLACE:
            return error
        if error.condition == "DECIMAL_SCALE_EXCEEDS_PRECISION":
            return whole_text_error(error, self.text)
        place = re.search(r"\(line 1, pos (\d+)\)", error.message)
        error.message = error.message.split(" (line ")[0]
        start = origin.start + int(place[1]) if place else origin.start
        if error.condition == "PARSE_SYNTAX_ERROR":
            error.message += f" {marked(self.text, start)}"
            return error
        word = re.search(r'data type "(\w+)"', error.message)
        if place and word:
            origin = self.span(start, start + len(word[1]) - 1)
        return with_fragment(error, origin)
