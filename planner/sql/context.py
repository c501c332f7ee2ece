"""Where in the query's text something stands, and how Spark's messages show it."""

from __future__ import annotations

import re
from typing import Any

from ..model.errors import AnalysisError
from ..model.expressions.core import Origin
from ..model.text.fragments import fragment_context

_LIKE = re.compile(r"(NOT\s+)?I?LIKE\b", re.IGNORECASE)


def origin_at(text: str, start: int, stop: int) -> Origin:
    """The origin of what stands from `start` to `stop` (inclusive). Positions count from 0."""
    line = text.count("\n", 0, start) + 1
    position = start - (text.rfind("\n", 0, start) + 1)
    return Origin(line=line, position=position, start=start, stop=stop, source=text)


def misfit_marked(text: str, place: int) -> str:
    """As `marked`, of a place where the text leaves the grammar.

    A text with a colon or a question mark is first read for its parameters, and a fault that is
    found then is told without the text.
    """
    shown = marked(text, place)
    return shown.partition("\n")[0] if ":" in text or "?" in text else shown


def syntax_failure(near: str, text: str, place: int, hint: str) -> AnalysisError:
    """The error for a text that leaves the grammar at a place, near what stands there."""
    return AnalysisError(
        "PARSE_SYNTAX_ERROR",
        f"[PARSE_SYNTAX_ERROR] Syntax error at or near {near}. "
        f"SQLSTATE: 42601 {misfit_marked(text, place)}",
        hint=hint,
    )


def marked(text: str, place: int) -> str:
    """`(line 1, pos 16)` and the text with an arrow below the place, as the parser shows it."""
    line = text.count("\n", 0, place) + 1
    position = place - (text.rfind("\n", 0, place) + 1)
    lines = text.split("\n")
    shown = [*lines[:line], f"{'-' * position}^^^", *lines[line:]]
    return f"(line {line}, pos {position})\n\n== SQL ==\n" + "\n".join(shown)


def invalid_identifier(name: str, text: str, place: int) -> AnalysisError:
    """A name with a hyphen that is not quoted."""
    return AnalysisError(
        "INVALID_IDENTIFIER",
        f"[INVALID_IDENTIFIER] The unquoted identifier {name} is invalid and must be back quoted "
        f"as: `{name}`.\nUnquoted identifiers can only contain ASCII letters ('a' - 'z', 'A' - "
        "'Z'), digits ('0' - '9'), and underbar ('_').\nUnquoted identifiers must also not start "
        "with a digit.\nDifferent data sources and meta stores may impose additional restrictions "
        f"on valid identifiers. SQLSTATE: 42602 {marked(text, place)}",
        hint=f"Write `{name}` in back quotes.",
    )


def fragment_error(condition: str, message: str, origin: Origin, hint: str = "") -> AnalysisError:
    """An error whose message ends with the fragment of the query that it is about."""
    return AnalysisError(condition, f"{message}\n{fragment_context(origin)}", hint=hint)


def _like_behind(matched: Origin, whole: Origin) -> Origin:
    """Where `[NOT] LIKE ...` stands, behind the text that is matched."""
    word = _LIKE.search(whole.source, matched.stop + 1)
    start = whole.start if word is None else word.start()
    return origin_at(whole.source, start, whole.stop)


def bad_escape(character: str, matched: Origin, whole: Origin) -> AnalysisError:
    """`LIKE 'a' ESCAPE 'bc'`."""
    return fragment_error(
        "INVALID_ESC",
        f"[INVALID_ESC] Found an invalid escape string: '{character}'. The escape string must"
        " contain only one character. SQLSTATE: 42604",
        _like_behind(matched, whole),
        hint="Give one character behind ESCAPE.",
    )


def no_patterns(matched: Origin, whole: Origin) -> AnalysisError:
    """`LIKE ANY ()`."""
    return fragment_error(
        "INVALID_SQL_SYNTAX.EMPTY_QUANTIFIED_PATTERN",
        "[INVALID_SQL_SYNTAX.EMPTY_QUANTIFIED_PATTERN] Invalid SQL syntax: Expected something"
        " between '(' and ')'. SQLSTATE: 42000",
        _like_behind(matched, whole),
        hint="Give patterns behind LIKE ANY or LIKE ALL.",
    )


def whole_text_error(error: AnalysisError, text: str) -> AnalysisError:
    """The error with the whole query behind it, without a place."""
    return AnalysisError(error.condition, f"{error.message}\n== SQL ==\n{text}", hint=error.hint)


def unsupported(what: str, origin: Origin | None = None) -> AnalysisError:
    """Spark's SQL has it, stateplan does not."""
    place = f" (line {origin.line}, pos {origin.position})" if origin is not None else ""
    return AnalysisError(
        "STATEPLAN_UNSUPPORTED_SQL",
        f"{what} is not supported by stateplan{place}.",
        hint="Write the query without it.",
    )


def missing_window(name: str, origin: Origin | None) -> AnalysisError:
    """A named window that is not defined; `origin`: of an expression that has no query."""
    shown = name if origin is None else f"`{name}`"
    context = "" if origin is None else f"\n{fragment_context(origin)}"
    return AnalysisError(
        "MISSING_WINDOW_SPECIFICATION",
        "[MISSING_WINDOW_SPECIFICATION] Window specification is not defined in the WINDOW clause "
        f"for {shown}. For more information about WINDOW clauses, please refer to "
        "'https://spark.apache.org/docs/latest/sql-ref-syntax-qry-select-window.html'. "
        f"SQLSTATE: 42P20{context}",
        hint="Define it with WINDOW name AS (...), or write the window behind OVER.",
    )


def duplicate_names(names: list[str], text: str, start: int, query: Any) -> AnalysisError:
    """Several queries of WITH with one name."""
    folded = [name.lower() for name in names]
    pairs = zip(names, folded, strict=True)
    twice = sorted({f"`{name}`" for name, key in pairs if folded.count(key) > 1})
    return fragment_error(
        "DUPLICATED_CTE_NAMES",
        "[DUPLICATED_CTE_NAMES] CTE definition can't have duplicate names:"
        f" {', '.join(twice)}. SQLSTATE: 42602",
        origin_at(text, start, query.meta["stop"]),
        hint="Give each query of WITH its own name.",
    )
