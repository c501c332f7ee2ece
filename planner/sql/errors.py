"""What Spark says of a text that it does not read, or reads and refuses, with the place."""

from __future__ import annotations

import re
from typing import Any

from ..model.errors import AnalysisError
from ..model.expressions.core import Origin
from ..model.text.quoting import fragment_context


def origin_at(text: str, start: int, stop: int) -> Origin:
    """The origin of what stands from `start` to `stop` (inclusive). Positions count from 0."""
    line = text.count("\n", 0, start) + 1
    position = start - (text.rfind("\n", 0, start) + 1)
    return Origin(line=line, position=position, start=start, stop=stop, source=text)


def syntax_error(near: str, text: str, place: int, hint: str) -> AnalysisError:
    """The error for a text that leaves the grammar at a place, near what stands there."""
    error = AnalysisError.of("PARSE_SYNTAX_ERROR", hint=hint, error=near, hint_="")
    error.message += f" {marked(text, place)}"
    return error


def empty_statement(text: str) -> AnalysisError:
    """A text without a word."""
    error = AnalysisError.of("PARSE_EMPTY_STATEMENT")
    error.message += f" (line 1, pos 0)\n\n== SQL ==\n{text}\n^^^"
    return error


def named_key(name: str, text: str) -> AnalysisError:
    """A key of GROUP BY with a name: Spark's grammar has it, its reader not. Without a place."""
    error = AnalysisError.of(
        "PARSE_SYNTAX_ERROR",
        hint="A key of GROUP BY takes no name: leave it out.",
        error=f"'{name}'",
        hint_=f": extra input '{name}'",
    )
    return whole_text_error(error, text)


def marked(text: str, place: int) -> str:
    """`(line 1, pos 16)` and the text with an arrow below the place, as the parser shows it."""
    origin = origin_at(text, place, place)
    lines = text.split("\n")
    lines.insert(origin.line, f"{'-' * origin.position}^^^")
    return f"(line {origin.line}, pos {origin.position})\n\n== SQL ==\n" + "\n".join(lines)


def invalid_identifier(name: str, text: str, place: int) -> AnalysisError:
    """A name with a hyphen that is not quoted."""
    error = AnalysisError.of(
        "INVALID_IDENTIFIER", hint=f"Write `{name}` in back quotes.", ident=name
    )
    error.message += f" {marked(text, place)}"
    return error


def fragment_error(
    condition: str, origin: Origin, /, *, hint: str = "", **parameters: Any
) -> AnalysisError:
    """An error whose message ends with the fragment of the query that it is about."""
    return with_fragment(AnalysisError.of(condition, hint=hint, **parameters), origin)


def with_fragment(error: AnalysisError, origin: Origin) -> AnalysisError:
    """The error with the fragment of the query that it is about."""
    error.message += f"\n{fragment_context(origin)}"
    return error


def negative_delay(delay: str) -> AnalysisError:
    """`DELAY OF INTERVAL -1 SECOND`."""
    return AnalysisError(
        None,
        f"requirement failed: delay threshold ({delay}) should not be negative.",
        hint="A watermark's delay is zero or more.",
    )


def refused_sample(size: str, origin: Origin) -> AnalysisError:
    """A size of TABLESAMPLE in bytes, which Spark reads but does not take."""
    if re.fullmatch("[0-9]+[bBkKmMgG]", size):
        return fragment_error("_LEGACY_ERROR_TEMP_0015", origin, msg="byteLengthLiteral")
    return fragment_error("_LEGACY_ERROR_TEMP_0016", origin, bytesStr=size)


def whole_text_error(error: AnalysisError, text: str) -> AnalysisError:
    """The error with the whole query behind it, without a place."""
    error.message += f"\n== SQL ==\n{text}"
    return error


def unsupported(what: str, origin: Origin | None = None) -> AnalysisError:
    """Spark's SQL has it, stateplan does not."""
    place = f" (line {origin.line}, pos {origin.position})" if origin is not None else ""
    return AnalysisError.of("STATEPLAN_UNSUPPORTED_SQL", what=what, place=place)


def not_allowed(what: str, origin: Origin) -> AnalysisError:
    """What Spark's grammar has and its reader not, in a sentence without its point."""
    return fragment_error("_LEGACY_ERROR_TEMP_0035", origin, message=what)


def pipe_aggregation(case: str, origin: Origin) -> AnalysisError:
    """`|> AGGREGATE count(*) GROUP BY CUBE (a, b)`."""
    condition = "UNSUPPORTED_FEATURE.PIPE_OPERATOR_AGGREGATE_UNSUPPORTED_CASE"
    return fragment_error(condition, origin, case=case)


def missing_window(name: str, origin: Origin | None) -> AnalysisError:
    """A named window that is not defined; `origin`: of an expression that has no query."""
    shown = name if origin is None else f"`{name}`"
    error = AnalysisError.of("MISSING_WINDOW_SPECIFICATION", windowName=shown)
    return error if origin is None else with_fragment(error, origin)


def duplicate_names(names: list[str], origin: Origin) -> AnalysisError:
    """Several queries of WITH with one name."""
    folded = [name.lower() for name in names]
    pairs = zip(names, folded, strict=True)
    twice = sorted({f"`{name}`" for name, key in pairs if folded.count(key) > 1})
    return fragment_error("DUPLICATED_CTE_NAMES", origin, duplicateNames=", ".join(twice))
