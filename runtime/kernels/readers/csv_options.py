"""The options of Spark's CSV reader, and which of them our own code follows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ....planner.model.schemas.types import (
    BinaryType,
    BooleanType,
    ByteType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)
from ....planner.model.text.time_zones import known_zone
from ..json.support import unsupported_format

_TYPES = (
    *(BooleanType, ByteType, ShortType, IntegerType, LongType, FloatType, DoubleType, DecimalType),
    *(StringType, BinaryType, DateType, TimestampType, TimestampNTZType),
)
_MODES = ("PERMISSIVE", "DROPMALFORMED", "FAILFAST")
_FIXED = {
    "inferschema": ("false", "true"),  # a stream has its schema
    "samplingratio": None,
    "preferdate": ("false", "true"),  # of schema inference
    "escapequotes": ("false", "true"),  # of the writer, as the next
    "quoteall": ("false", "true"),
    "extension": None,
    "compression": None,
    "codec": None,
    "locale": ("en-us",),
    "columnpruning": ("true",),
    "maxcolumns": ("20480",),
    "maxcharspercolumn": ("-1",),
    "unescapedquotehandling": ("stop_at_delimiter",),
    "enabledatetimeparsingfallback": ("true",),
}
"""Options in lower case, and the values with which files are read as without them; None: all."""
_READ = {
    *("mode", "sep", "delimiter", "quote", "escape", "chartoescapequoteescaping", "comment"),
    *("header", "enforceschema", "ignoreleadingwhitespace", "ignoretrailingwhitespace"),
    *("nullvalue", "emptyvalue", "nanvalue", "positiveinf", "negativeinf", "linesep", "timezone"),
    *("multiline", "encoding", "charset"),
    *("dateformat", "timestampformat", "timestampntzformat", "columnnameofcorruptrecord"),
}
_ENCODINGS = {"utf-8": "utf-8", "utf8": "utf-8", "iso-8859-1": "latin-1", "us-ascii": "ascii"}
"""Names of encodings in lower case, and Python's names of them."""
_ESCAPED = {"t": "\t", "r": "\r", "b": "\b", "f": "\f", '"': '"', "'": "'", "\\": "\\"}
NOTHING = "\0"
"""univocity's character for none."""


class UnsupportedOption(Exception):
    """An option has a value with which files are not read here."""


@dataclass(frozen=True, kw_only=True)
class CsvOptions:
    """How CSV files are read: CSVOptions, for what is read here.

    Attributes:
        mode: what becomes of malformed records.
        sep: one ASCII character or several.
        quote, escape: characters; `\\0`: there is none.
        escape_escape: the character that escapes `escape`; `\\0`: there is none.
        comment: the character that begins a comment's line; None: there are no comments.
        header: whether the first line has names.
        enforce_schema: whether names in it are not compared with the schema's.
        leading, trailing: whether blanks around values are ignored there.
        null_value, empty_value: the text that is null; and what an empty quoted text is.
        nan, infinity, minus_infinity: the names of such numbers.
        multi_line: whether ends of lines within quotes are a part of a value.
        encoding: Python's name of the files' encoding; in each, ASCII letters are one byte.
        line_sep: the one byte that ends a line; None: `\\n`, `\\r\\n` and `\\r` do.
        zone: the time zone; None: the session's.
        date_format, timestamp_format, ntz_format: patterns; None: the usual forms.
        corrupt: the name of the column that takes malformed lines.
    """

    mode: str = "PERMISSIVE"
    sep: str = ","
    quote: str = '"'
    escape: str = "\\"
    escape_escape: str = "\\"
    comment: str | None = None
    header: bool = False
    enforce_schema: bool = True
    leading: bool = False
    trailing: bool = False
    null_value: str = ""
    empty_value: str = ""
    nan: str = "NaN"
    infinity: str = "Inf"
    minus_infinity: str = "-Inf"
    multi_line: bool = False
    encoding: str = "utf-8"
    line_sep: bytes | None = None
    zone: str | None = None
    date_format: str | None = None
    timestamp_format: str | None = None
    ntz_format: str | None = None
    corrupt: str = "_corrupt_record"


def csv_options(options: Mapping[str, str]) -> CsvOptions:
    """The options of a reader.

    Raises:
        UnsupportedOption: files are not read here under one of them; the text says which.
    """
    given = _Given(options)
    for key, value in given.lower.items():
        accepted = _FIXED.get(key, ())
        if key not in _READ and accepted is not None and value.lower() not in accepted:
            raise given.refusal(key)
    quote, escape = given.character("quote", '"'), given.character("escape", "\\")
    own_escape = NOTHING if quote == escape else escape
    return CsvOptions(
        mode=given.among("mode", _MODES),
        sep=given.separator(),
        quote=quote,
        escape=escape,
        escape_escape=given.character("charToEscapeQuoteEscaping", own_escape, own_escape),
        comment=given.comment(),
        header=given.flag("header", False),
        enforce_schema=given.flag("enforceSchema", True),
        leading=given.flag("ignoreLeadingWhiteSpace", False),
        trailing=given.flag("ignoreTrailingWhiteSpace", False),
        null_value=given.text("nullValue", ""),
        empty_value=given.text("emptyValue", ""),
        nan=given.text("nanValue", "NaN"),
        infinity=given.text("positiveInf", "Inf"),
        minus_infinity=given.text("negativeInf", "-Inf"),
        multi_line=given.multi_line(),
        encoding=given.encoding(),
        line_sep=given.line_separator(),
        zone=given.zone(),
        date_format=given.pattern("dateFormat"),
        timestamp_format=given.pattern("timestampFormat"),
        ntz_format=given.pattern("timestampNTZFormat"),
        corrupt=given.text("columnNameOfCorruptRecord", "_corrupt_record"),
    )


class _Given:
    """Options as the user gave them, whatever the case of their names."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._names = {name.lower(): name for name in options}
        self.lower = {name.lower(): value for name, value in options.items()}

    def refusal(self, key: str) -> UnsupportedOption:
        key = key.lower()
        return UnsupportedOption(
            f"the option '{self._names.get(key, key)}' is '{self.lower.get(key)}'"
        )

    def text(self, name: str, usual: str) -> str:
        return self.lower.get(name.lower(), usual)

    def flag(self, name: str, usual: bool) -> bool:
        value = self.text(name, str(usual)).lower()
        if value not in ("true", "false"):
            raise self.refusal(name)
        return value == "true"

    def among(self, name: str, known: tuple[str, ...]) -> str:
        value = self.text(name, known[0]).upper()
        if value not in known:
            raise self.refusal(name)
        return value

    def character(self, name: str, usual: str, empty: str = NOTHING) -> str:
        value = self.text(name, usual)
        if value and (len(value) > 1 or not "\0" < value < "\x7f" or value in "\r\n"):
            if value == usual:
                return value
            raise self.refusal(name)
        return value or empty

    def comment(self) -> str | None:
        return self.character("comment", "", "") or None

    def separator(self) -> str:
        name = "sep" if "sep" in self.lower else "delimiter"
        letters = iter(self.text(name, ","))
        sep = ""
        for letter in letters:
            escaped = letter if letter != "\\" else _ESCAPED.get(next(letters, ""))
            if escaped is None or not "\0" < escaped < "\x7f" or escaped in "\r\n":
                raise self.refusal(name)
            sep += escaped
        repeated = len(set(sep)) > 1 and sep[0] in sep[1:]
        # univocity does not begin anew within a separator that it found a part of.
        spaces = len(sep) > 1 and (
            self.flag("ignoreLeadingWhiteSpace", False)
            or self.flag("ignoreTrailingWhiteSpace", False)
        )
        marks = {self.character("quote", '"'), self.character("escape", "\\")}
        if not sep or repeated or spaces or marks & set(sep):
            raise self.refusal(name)
        return sep

    def line_separator(self) -> bytes | None:
        if "linesep" not in self.lower:
            return None
        value = self.lower["linesep"]
        marks = self.separator() + self.character("quote", '"') + self.character("escape", "\\")
        if len(value) != 1 or not "\0" < value < "\x7f" or value in marks:
            raise self.refusal("lineSep")
        return value.encode()

    def multi_line(self) -> bool:
        found = self.flag("multiLine", False)
        trailing, leading = (
            self.flag(f"ignore{end}WhiteSpace", False) for end in ("Trailing", "Leading")
        )
        # With these, more than quotes decides where a record ends, and whether it is malformed.
        deciding = {
            "mode": self.among("mode", _MODES) != _MODES[0],
            "ignoreTrailingWhiteSpace": trailing and not leading,
            "comment": self.comment() is not None,
            "lineSep": "linesep" in self.lower,
            "sep": len(self.separator()) > 1,
            "quote": self.character("quote", '"') == NOTHING,
            "charToEscapeQuoteEscaping": "chartoescapequoteescaping" in self.lower,
        }
        for name in (name for name, decides in deciding.items() if found and decides):
            raise UnsupportedOption(f"such a '{name}' is given with 'multiLine'")
        return found

    def encoding(self) -> str:
        name = "encoding" if "encoding" in self.lower else "charset"
        known = _ENCODINGS.get(self.text(name, "UTF-8").lower())
        if known is None:
            raise self.refusal(name)
        return known

    def zone(self) -> str | None:
        zone = self.lower.get("timezone")
        if zone is not None and not known_zone(zone):
            raise self.refusal("timeZone")
        return zone

    def pattern(self, name: str) -> str | None:
        pattern = self.lower.get(name.lower())
        if pattern is not None and (
            unsupported_format(name, pattern) or "enabledatetimeparsingfallback" in self.lower
        ):
            raise self.refusal(name)
        return pattern


def unsupported(schema: StructType, options: Mapping[str, str]) -> str | None:
    """Why CSV files cannot be read here as Spark reads them; None: they can.

    Args:
        schema: all columns, given by the user.
        options: those of the reader that say how a file is read, without the file source's own.
    """
    try:
        chosen = csv_options(options)
    except UnsupportedOption as error:
        return str(error)
    names = [field.name for field in schema.fields]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        return f"the field '{repeated[0]}' stands twice in the schema"
    for field in schema.fields:
        if type(field.data_type) not in _TYPES:
            return f"the column '{field.name}' has the type {field.data_type.sql}"
        if field.name == chosen.corrupt and type(field.data_type) is not StringType:
            return f"the column '{field.name}' takes malformed lines, and is no STRING"
        if field.name == chosen.corrupt and chosen.multi_line:
            return f"the column '{field.name}' takes malformed records of several lines"
    return None if schema.fields else "no column is read"


def unsupported_in_texts(schema: StructType, options: Mapping[str, str]) -> str | None:
    """Why single records of CSV cannot be read here as Spark reads them; None: they can."""
    reason = unsupported(schema, options)
    if reason is None and csv_options(options).multi_line:
        return "the option 'multiLine' is 'true'"
    return reason
