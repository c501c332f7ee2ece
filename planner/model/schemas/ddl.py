"""Spark's texts for types and schemas: `user STRING, tags ARRAY<STRUCT<k: INT>> NOT NULL`."""

from __future__ import annotations

import re
from contextlib import AbstractContextManager
from contextvars import ContextVar
from functools import lru_cache

from ..errors import AnalysisError
from ..scopes import scope
from ..text.quoting import in_quotes
from .open_schemas import open_schema, open_type
from .types import (
    BINARY,
    BOOLEAN,
    BYTE,
    CALENDAR_INTERVAL,
    DATE,
    DAY_TIME_FIELDS,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    NULL,
    SHORT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    YEAR_MONTH_FIELDS,
    ArrayType,
    CollatedStringType,
    DataType,
    DayTimeIntervalType,
    DecimalType,
    MapType,
    StructField,
    StructType,
    YearMonthIntervalType,
)

_COLLATION = re.compile("(UTF8_BINARY|UTF8_LCASE|UNICODE(_CI)?(_AI)?)(_RTRIM)?")

SIMPLE_TYPES: dict[str, DataType] = {
    "boolean": BOOLEAN,
    "tinyint": BYTE,
    "byte": BYTE,
    "smallint": SHORT,
    "short": SHORT,
    "int": INT,
    "integer": INT,
    "bigint": LONG,
    "long": LONG,
    "float": FLOAT,
    "real": FLOAT,
    "double": DOUBLE,
    "date": DATE,
    "timestamp": TIMESTAMP,
    "timestamp_ltz": TIMESTAMP,
    "timestamp_ntz": TIMESTAMP_NTZ,
    "string": STRING,
    "char": STRING,
    "character": STRING,
    "varchar": STRING,
    "binary": BINARY,
    "void": NULL,
}
_TOKEN = re.compile(
    r"\s*(?:(?P<quoted>`(?:[^`]|``)*`)|(?P<word>\w+)|(?P<text>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")"
    r"|(?P<sign><>|[<>(),:]))"
)


_PLAIN_TIMESTAMP: ContextVar[DataType] = ContextVar("_PLAIN_TIMESTAMP", default=TIMESTAMP)


def timestamp_type(kind: str) -> AbstractContextManager[None]:
    """`TIMESTAMP` read meanwhile means what `spark.sql.timestampType` says."""
    meant = TIMESTAMP_NTZ if kind.upper() == "TIMESTAMP_NTZ" else TIMESTAMP
    return scope(_PLAIN_TIMESTAMP, meant)


def parse_schema(text: str) -> StructType:
    """Read `name TYPE [NOT NULL] [COMMENT '...'], ...`.

    Raises:
        AnalysisError: PARSE_SYNTAX_ERROR or UNSUPPORTED_DATATYPE, naming the place.
    """
    found = open_schema(text)
    return _schema(text, _PLAIN_TIMESTAMP.get()) if found is None else found


@lru_cache(maxsize=256)
def _schema(text: str, timestamp: DataType) -> StructType:
    # Sources are described by the same few texts, query after query; types are immutable.
    reader = _Reader(text)
    if reader.peek() == "":
        return StructType(())
    fields = reader.fields(closing="")
    reader.end()
    return StructType(fields)


def parse_type(text: str) -> DataType:
    """Read one type, such as `map<string, decimal(10,2)>`.

    Raises:
        AnalysisError: PARSE_SYNTAX_ERROR or UNSUPPORTED_DATATYPE, naming the place.
    """
    if (found := open_type(text)) is not None:
        return found
    reader = _Reader(text)
    try:
        data_type = reader.type()
    except AnalysisError as error:
        # The grammar comes first: `a FOO` is no type at all, whatever `a` is.
        if error.condition in _UNKNOWN and reader.index == 1:
            reader.end()
        raise
    reader.end()
    return data_type


_LAYOUT = "A schema reads `name TYPE, name TYPE`, such as `user STRING, ts TIMESTAMP`."
_UNKNOWN = ("UNSUPPORTED_DATATYPE", "UNSUPPORTED_TIME_TYPE")


class _Reader:
    """The tokens of one text and a cursor over them."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[tuple[str, str, int]] = []
        position = 0
        while match := _TOKEN.match(text, position):
            kind = match.lastgroup or ""
            self.tokens.append((kind, match.group(kind), match.start(kind)))
            position = match.end()
        if text[position:].strip():
            start = position + len(text[position:]) - len(text[position:].lstrip())
            self.tokens.append(("bad", text[start], start))
        self.index = 0

    def peek(self, offset: int = 0) -> str:
        index = self.index + offset
        return self.tokens[index][1].lower() if index < len(self.tokens) else ""

    def take(self, *wanted: str) -> bool:
        """Step over the words or signs if they come next."""
        for offset, word in enumerate(wanted):
            if self.peek(offset) != word:
                return False
        self.index += len(wanted)
        return True

    def expect(self, sign: str) -> None:
        if not self.take(sign):
            self.fail()

    def end(self) -> None:
        left = self.tokens[self.index :]
        if len(left) == 1 and left[0][0] == "word" and left[0][1].lower() not in SIMPLE_TYPES:
            self.fail(f": extra input '{left[0][1]}'")
        if left:
            self.fail()

    def fail(self, more: str = "") -> None:
        at_end = self.index >= len(self.tokens)
        place = len(self.text) if at_end else self.tokens[self.index][2]
        near = "end of input" if at_end else f"'{self.tokens[self.index][1]}'"
        raise self._at(
            AnalysisError.of("PARSE_SYNTAX_ERROR", hint=_LAYOUT, error=near, hint_=more), place
        )

    def _at(self, error: AnalysisError, place: int) -> AnalysisError:
        """The error with the place in the text."""
        line = self.text.count("\n", 0, place) + 1
        position = place - (self.text.rfind("\n", 0, place) + 1)
        error.message += (
            f" (line {line}, pos {position})\n\n== SQL ==\n{self.text}\n{'-' * position}^^^"
        )
        return error

    def name(self) -> str:
        if self.index >= len(self.tokens):
            self.fail()
        kind, text, _ = self.tokens[self.index]
        if kind not in ("quoted", "word"):
            self.fail()
        self.index += 1
        return text[1:-1].replace("``", "`") if kind == "quoted" else text

    def text_(self) -> None:
        """A string, quotes doubled inside it included."""
        start = self.index
        while self.index < len(self.tokens) and self.tokens[self.index][0] == "text":
            self.index += 1
        if self.index == start:
            self.fail()

    def fields(self, closing: str) -> tuple[StructField, ...]:
        found = []
        while True:
            name = self.name()
            self.take(":")
            data_type = self.type()
            nullable = not self.take("not", "null")
            if self.take("comment"):
                self.text_()
            found.append(StructField(name, data_type, nullable))
            if not self.take(","):
                break
        if closing:
            self.expect(closing)
        return tuple(found)

    def type(self) -> DataType:
        start = self.index
        word = self.name().lower()
        match word:
            case "array" | "map" | "struct" if self.index == len(self.tokens):
                raise _incomplete(word)
            case "array":
                self.expect("<")
                element = self.type()
                self.expect(">")
                return ArrayType(element)
            case "map":
                self.expect("<")
                key = self.type()
                self.expect(",")
                value = self.type()
                self.expect(">")
                return MapType(key, value)
            case "struct":
                if self.take("<>"):
                    return StructType(())
                self.expect("<")
                return StructType(()) if self.take(">") else StructType(self.fields(">"))
            case "decimal" | "dec" | "numeric":
                return self.decimal()
            case "interval":
                return self.interval()
        arguments = self.numbers()
        simple = _PLAIN_TIMESTAMP.get() if word == "timestamp" else SIMPLE_TYPES.get(word)
        sized = word in ("char", "character", "varchar")
        if simple is None or (arguments and not sized):
            raise self.unsupported(start)
        if sized and not arguments:
            kind = "VARCHAR" if word == "varchar" else "CHAR"
            raise AnalysisError.of(
                "DATATYPE_MISSING_SIZE", hint=f"Write {kind}(10), or STRING.", type=in_quotes(kind)
            )
        if word == "string" and self.take("collate"):
            return collated(self.name())
        return simple

    def numbers(self) -> list[int]:
        found: list[int] = []
        if self.take("("):
            while True:
                if not self.peek().isdigit():
                    self.fail()
                found.append(int(self.peek()))
                self.index += 1
                if not self.take(","):
                    break
            self.expect(")")
        return found

    def decimal(self) -> DataType:
        numbers = self.numbers()
        if numbers and numbers[0] > DecimalType.MAX_PRECISION:
            raise AnalysisError.of(
                "DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION",
                precision=numbers[0],
                maxPrecision=DecimalType.MAX_PRECISION,
            )
        if len(numbers) > 1 and numbers[1] > numbers[0]:
            raise AnalysisError.of(
                "DECIMAL_SCALE_EXCEEDS_PRECISION", scale=numbers[1], precision=numbers[0]
            )
        return DecimalType(*numbers[:2]) if numbers else DecimalType(10, 0)

    def interval(self) -> DataType:
        first = self.peek()
        for fields, kind in (
            (DAY_TIME_FIELDS, DayTimeIntervalType),
            (YEAR_MONTH_FIELDS, YearMonthIntervalType),
        ):
            if first in fields:
                self.index += 1
                last = first
                if self.take("to"):
                    last = self.peek()
                    if last not in fields:
                        self.fail()
                    self.index += 1
                return kind(fields.index(first), fields.index(last))
        return CALENDAR_INTERVAL

    def unsupported(self, start: int) -> AnalysisError:
        if self.tokens[start][1].lower() == "time":
            return unsupported_time()
        first, last = self.tokens[start][2], self.tokens[self.index - 1]
        text = self.text[first : last[2] + len(last[1])].upper()
        place = self.tokens[start][2]
        return self._at(AnalysisError.of("UNSUPPORTED_DATATYPE", typeName=in_quotes(text)), place)


def collated(name: str) -> DataType:
    """The string type of a collation; UTF8_BINARY is that of plain strings.

    Raises:
        AnalysisError: it is one of a locale, or none.
    """
    collation = name.upper()
    if collation == "UTF8_BINARY":
        return STRING
    if not _COLLATION.fullmatch(collation):
        raise AnalysisError.of("STATEPLAN_UNKNOWN_COLLATION", name=name)
    return CollatedStringType(collation)


def unsupported_time() -> AnalysisError:
    """Spark knows the type TIME and, as long as a setting does not allow it, refuses it."""
    return AnalysisError.of("UNSUPPORTED_TIME_TYPE")


def _incomplete(word: str) -> AnalysisError:
    if word == "array":
        return AnalysisError.of("INCOMPLETE_TYPE_DEFINITION.ARRAY", elementType="<INT>")
    return AnalysisError.of(f"INCOMPLETE_TYPE_DEFINITION.{word.upper()}")
