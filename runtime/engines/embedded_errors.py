"""Spark's error condition for what the embedded engine says when an expression fails.

The comparison (tests/compare_engines.py) checks every failing row against it: a signature whose
failures do not come out under Spark's condition is not used.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ...planner.model.errors import RuntimeFailure
from ..kernels.errors import KernelError, not_exact

_ADVICE = 'If necessary set "spark.sql.ansi.enabled" to "false" to bypass this error.'


@dataclass(frozen=True)
class SparkError:
    """An error in Spark's words.

    Attributes:
        condition: Spark's name of it, such as `DIVIDE_BY_ZERO`.
        sqlstate: five letters and digits.
        message: the sentence, without condition and SQLSTATE.
    """

    condition: str
    sqlstate: str
    message: str

    @property
    def text(self) -> str:
        """As Spark shows it."""
        return f"[{self.condition}] {self.message} SQLSTATE: {self.sqlstate}"


_SPARKS = re.compile(r"\[([A-Z][A-Z0-9_.]*)\] (.*)", re.DOTALL)
_STATE = re.compile(r"(.*?) ?SQLSTATE: (\w{5})", re.DOTALL)
_TYPES = {
    "Int8": "TINYINT",
    "Int16": "SMALLINT",
    "Int32": "INT",
    "Int64": "BIGINT",
    "Float32": "FLOAT",
    "Float64": "DOUBLE",
    "Boolean": "BOOLEAN",
}
_STATES = {
    "ARITHMETIC_OVERFLOW": "22003",
    "CAST_INVALID_INPUT": "22018",
    "INVALID_ARRAY_INDEX": "22003",
}
_MALFORMED = (
    'The value \'{0}\' of the type "STRING" cannot be cast to "{1}" because it is malformed. '
    "Correct the value as per the syntax, or change its target type. Use `try_cast` to tolerate "
    "malformed input and return NULL instead."
)
_TOO_LARGE = (
    'The value {0} cannot be cast to "{1}" due to an overflow. Use `try_cast` to tolerate overflow '
    "and return NULL instead."
)
_WORDS = (
    (
        r"(?:Divi(?:de|sion) by zero|divide by zero)(?: error)?",
        "DIVIDE_BY_ZERO",
        "22012",
        f"Division by zero. Use `try_divide` to tolerate divisor being 0 and return NULL instead. "
        f"{_ADVICE}",
    ),
    (
        r"Remainder by zero",
        "REMAINDER_BY_ZERO",
        "22012",
        f"Remainder by zero. Use `try_mod` to tolerate divisor being 0 and return NULL instead. "
        f"{_ADVICE}",
    ),
    (
        r"Cannot cast (?:string|value) '(.*)' to value of (\w+)(?:\(.*\))? type",
        "CAST_INVALID_INPUT",
        "22018",
        _MALFORMED,
    ),
    (r"invalid timestamp: (.*)", "CAST_INVALID_INPUT", "22018", _MALFORMED),
    (r"Can't cast value (\S+) to type (\w+)", "CAST_OVERFLOW", "22003", _TOO_LARGE),
    (r"value of (\S+) is out of range (\w+)", "CAST_OVERFLOW", "22003", _TOO_LARGE),
    (
        r"(\S+) is too large to store in a Decimal128 of precision (\d+)\. Max is .*",
        "NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION",
        "22003",
        f"{{0}} has more than {{1}} digits. {_ADVICE[:-1]}, and return NULL instead.",
    ),
    (r"Int\d+ overflow on negative\(.*\)", "ARITHMETIC_OVERFLOW", "22003", f"overflow. {_ADVICE}"),
    (
        r"element_at: the index is out of bounds",
        "INVALID_ARRAY_INDEX_IN_ELEMENT_AT",
        "22003",
        "The index is out of bounds. Use `try_element_at` to tolerate accessing element at invalid "
        "index and return NULL instead.",
    ),
    (
        r"element_at: the index 0 is invalid.*",
        "INVALID_INDEX_OF_ZERO",
        "22003",
        "The index 0 is invalid. An index shall be either < 0 or > 0 (the first element has index "
        "1).",
    ),
)
_PATTERNS = tuple(
    (re.compile(words, re.DOTALL), condition, state, message)
    for words, condition, state, message in _WORDS
)
_MISREAD = re.compile(
    r"(?:\[FAILED_READ_FILE\.PARQUET_COLUMN_DATA_TYPE_MISMATCH\] "
    r"|(?=Cannot cast struct with \d+ fields to \d+ fields))(.*)"
)
_PREFIX = re.compile(
    r"^(?:\w+(?:Exception|Error): )?(?:(?:Cast|Compute|Execution|Invalid argument|Arrow) error: )*"
)


def spark_error(text: str) -> SparkError | None:
    """The error that Spark raises where the engine raises one with this text, if that is known.

    Args:
        text: the message of the client's exception; the exception's name may stand before it.
    """
    words = text[len(_matched(text)) :].strip()
    named = _SPARKS.match(words)
    if named is not None:
        stated = _STATE.match(named[2])
        message, state = (stated[1], stated[2]) if stated else (named[2], _STATES.get(named[1]))
        return None if state is None else SparkError(named[1], state, message)
    for pattern, condition, state, message in _PATTERNS:
        found = pattern.fullmatch(words)
        if found is not None:
            parts = [_TYPES.get(part, part) for part in found.groups()]
            shown = message.format(*parts, "TIMESTAMP") if parts else message
            return SparkError(condition, state, shown)
    return None


def engine_failure(error: BaseException) -> BaseException:
    """What an error of the engine's client means to a user; itself, if nothing is known of it."""
    from .embedded_channel import is_gone

    if is_gone(error):
        return RuntimeFailure(
            "STATEPLAN_EMBEDDED_STOPPED",
            "The embedded engine of this process has stopped.",
            hint="Start the query again in a new process: it goes on from the last commit.",
        )
    column = _misread_column(str(error))
    if column is not None:
        return not_exact(f"The embedded engine cannot read a Parquet column as declared: {column}")
    found = spark_error(str(error))
    return error if found is None else KernelError(found.condition, found.text)


def _misread_column(text: str) -> str | None:
    """What the engine says of a Parquet file's column that it does not read as declared.

    Spark reads more of them: whole numbers of fewer bits, say, or structs of which the file has no
    field.

    Args:
        text: the message of the client's exception.
    """
    found = _MISREAD.search(text)
    return None if found is None else found[1]


def _matched(text: str) -> str:
    found = _PREFIX.match(text)
    return found.group() if found else ""
