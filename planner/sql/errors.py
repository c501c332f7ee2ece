"""What Spark says of a text that it does not read, or reads and refuses, with the place."""

from __future__ import annotations

import re

from ..model.errors import AnalysisError
from ..model.expressions.core import Origin
from ..model.text.fragments import fragment_context


def origin_at(text: str, start: int, stop: int) -> Origin:
    """The origin of what stands from `start` to `stop` (inclusive). Positions count from 0."""
    line = text.count("\n", 0, start) + 1
    position = start - (text.rfind("\n", 0, start) + 1)
    return Origin(line=line, position=position, start=start, stop=stop, source=text)


def syntax_error(near: str, text: str, place: int, hint: str) -> AnalysisError:
    """The error for a text that leaves the grammar at a place, near what stands there."""
    return AnalysisError(
        "PARSE_SYNTAX_ERROR",
        f"[PARSE_SYNTAX_ERROR] Syntax error at or near {near}. "
        f"SQLSTATE: 42601 {marked(text, place)}",
        hint=hint,
    )


def empty_statement(text: str) -> AnalysisError:
    """A text without a word."""
    return AnalysisError(
        "PARSE_EMPTY_STATEMENT",
        "[PARSE_EMPTY_STATEMENT] Syntax error, unexpected empty statement. SQLSTATE: 42617 "
        f"(line 1, pos 0)\n\n== SQL ==\n{text}\n^^^",
        hint="Write a query: SELECT ... FROM STREAM ...",
    )


def named_key(name: str, text: str) -> AnalysisError:
    """A key of GROUP BY with a name: Spark's grammar has it, its reader not. Without a place."""
    return AnalysisError(
        "PARSE_SYNTAX_ERROR",
        f"[PARSE_SYNTAX_ERROR] Syntax error at or near '{name}': extra input '{name}'. "
        f"SQLSTATE: 42601\n== SQL ==\n{text}",
        hint="A key of GROUP BY takes no name: leave it out.",
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


def bad_escape(character: str, origin: Origin) -> AnalysisError:
    """`LIKE 'a' ESCAPE 'bc'`."""
    return fragment_error(
        "INVALID_ESC",
        f"[INVALID_ESC] Found an invalid escape string: '{character}'. The escape string must"
        " contain only one character. SQLSTATE: 42604",
        origin,
        hint="Give one character behind ESCAPE.",
    )


def no_patterns(origin: Origin) -> AnalysisError:
    """`LIKE ANY ()`."""
    return fragment_error(
        "INVALID_SQL_SYNTAX.EMPTY_QUANTIFIED_PATTERN",
        "[INVALID_SQL_SYNTAX.EMPTY_QUANTIFIED_PATTERN] Invalid SQL syntax: Expected something"
        " between '(' and ')'. SQLSTATE: 42000",
        origin,
        hint="Give patterns behind LIKE ANY or LIKE ALL.",
    )


def empty_in(origin: Origin) -> AnalysisError:
    """`IN ()`."""
    return fragment_error(
        "INVALID_SQL_SYNTAX.EMPTY_IN_PREDICATE",
        "[INVALID_SQL_SYNTAX.EMPTY_IN_PREDICATE] Invalid SQL syntax: IN predicate requires"
        " at least one value. Empty IN clauses like 'IN ()' are not allowed. Consider using"
        " 'WHERE FALSE' if you need an always-false condition, or provide at least one"
        " value in the IN list. SQLSTATE: 42000",
        origin,
        hint="Write at least one value.",
    )


def bang_for_not(origin: Origin) -> AnalysisError:
    """`a ! LIKE b`."""
    return fragment_error(
        "SYNTAX_DISCONTINUED.BANG_EQUALS_NOT",
        "[SYNTAX_DISCONTINUED.BANG_EQUALS_NOT] Support of the clause or keyword: ! has been "
        "discontinued in this context. The '!' keyword is only supported as an alias for the "
        "prefix operator 'NOT'.\nUse the 'NOT' keyword instead for infix clauses such as `NOT "
        "LIKE`, `NOT IN`, `NOT BETWEEN`, etc.\nTo re-enable the '!' keyword, set "
        '"spark.sql.legacy.bangEqualsNot" to "true". SQLSTATE: 42601',
        origin,
        hint="Write NOT.",
    )


def unclosed_comment(text: str) -> AnalysisError:
    """`/* ...` without its end."""
    condition = "UNCLOSED_BRACKETED_COMMENT"
    message = (
        f"[{condition}] Found an unclosed bracketed comment. Please, append */ at the end of the "
        "comment. SQLSTATE: 42601"
    )
    return whole_text_error(AnalysisError(condition, message, hint="Close the comment."), text)


def lateral_table(origin: Origin) -> AnalysisError:
    """`t, LATERAL u`, where u is a table."""
    condition = "INVALID_SQL_SYNTAX.LATERAL_WITHOUT_SUBQUERY_OR_TABLE_VALUED_FUNC"
    return fragment_error(
        condition,
        f"[{condition}] Invalid SQL syntax: LATERAL can only be used with subquery and "
        "table-valued functions. SQLSTATE: 42000",
        origin,
        hint="Leave LATERAL out: a table cannot refer to other relations.",
    )


def lateral_join_type(kind: str, origin: Origin) -> AnalysisError:
    """`RIGHT JOIN LATERAL (...)`."""
    return fragment_error(
        "INVALID_LATERAL_JOIN_TYPE",
        f"[INVALID_LATERAL_JOIN_TYPE] The {kind} JOIN with LATERAL"
        " correlation is not allowed because an OUTER subquery cannot correlate to its join"
        " partner. Remove the LATERAL correlation or use an INNER JOIN, or LEFT OUTER JOIN"
        " instead. SQLSTATE: 42613",
        origin,
        hint="Put the subquery on the right of a left join.",
    )


def negative_delay(delay: str) -> AnalysisError:
    """`DELAY OF INTERVAL -1 SECOND`."""
    return AnalysisError(
        None,
        f"requirement failed: delay threshold ({delay}) should not be negative.",
        hint="A watermark's delay is zero or more.",
    )


def deduplication_key() -> AnalysisError:
    """`DISTINCT ON (a + 1)`."""
    return AnalysisError(
        "STATEPLAN_DEDUPLICATION_KEY",
        "DISTINCT ON takes columns; one of its keys is an expression.",
        hint="Compute the key in a subquery and name that column.",
    )


def empty_sample(origin: Origin) -> AnalysisError:
    """`TABLESAMPLE ()`."""
    return fragment_error(
        "_LEGACY_ERROR_TEMP_0014", "TABLESAMPLE does not accept empty inputs.", origin
    )


def refused_sample(size: str, origin: Origin) -> AnalysisError:
    """A size of TABLESAMPLE in bytes, which Spark reads but does not take."""
    if re.fullmatch("[0-9]+[bBkKmMgG]", size):
        return unsupported_sample("byteLengthLiteral", origin)
    return fragment_error(
        "_LEGACY_ERROR_TEMP_0016",
        f"{size} is not a valid byte length literal, expected syntax:"
        " DIGIT+ ('B' | 'K' | 'M' | 'G').",
        origin,
    )


def unsupported_sample(what: str, origin: Origin) -> AnalysisError:
    """A form of TABLESAMPLE that Spark's grammar has and Spark has not."""
    return fragment_error(
        "_LEGACY_ERROR_TEMP_0015", f"TABLESAMPLE({what}) is not supported.", origin
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


def duplicate_names(names: list[str], origin: Origin) -> AnalysisError:
    """Several queries of WITH with one name."""
    folded = [name.lower() for name in names]
    pairs = zip(names, folded, strict=True)
    twice = sorted({f"`{name}`" for name, key in pairs if folded.count(key) > 1})
    return fragment_error(
        "DUPLICATED_CTE_NAMES",
        "[DUPLICATED_CTE_NAMES] CTE definition can't have duplicate names:"
        f" {', '.join(twice)}. SQLSTATE: 42602",
        origin,
        hint="Give each query of WITH its own name.",
    )
