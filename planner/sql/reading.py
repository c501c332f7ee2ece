"""From a text to its unresolved plan, or to what Spark says of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from ..model.errors import AnalysisError
from ..model.expressions.core import Expression
from ..model.plans.query_plan import LogicalPlan
from ..model.settings.conf import Conf
from .calls import NamedWindow
from .cursor import CLAUSE_WORDS, Misfit
from .errors import empty_statement, missing_window, syntax_error, whole_text_error
from .pipes import PipeParser
from .tokens import tokenize, with_pipes

T = TypeVar("T")

_OTHER_STATEMENTS = frozenset(
    {"ADD", "ALTER", "ANALYZE", "BEGIN", "CACHE", "CALL", "CLEAR", "COMMENT", "CREATE", "DECLARE",
     "DELETE", "DESC", "DESCRIBE", "DROP", "EXECUTE", "EXPLAIN", "INSERT", "LOAD", "MERGE", "MSCK",
     "REFRESH", "RESET", "SET", "SHOW", "TRUNCATE", "UNCACHE", "UPDATE", "USE"}
)  # fmt: skip
# What is taken for a keyword where it may be one, and may yet be a name.
_KEYWORDS = CLAUSE_WORDS | {
    "ALL", "AND", "ANY", "AS", "ASC", "BETWEEN", "CASE", "DELAY", "DESC", "DISTINCT", "DIV", "ELSE",
    "END", "ESCAPE", "EXISTS", "FALSE", "FILTER", "FOR", "IGNORE", "ILIKE", "IN", "INTERVAL", "IS",
    "LIKE", "NOT", "NULL", "NULLS", "OR", "OVER", "REGEXP", "RESPECT", "RLIKE", "SOME",
    "STREAM", "TABLE", "THEN", "TRUE", "VALUES", "WHEN", "WITH", "WITHIN",
}  # fmt: skip
_LEFT_OVER = (
    "The query could end before it, and goes on with nothing that follows. Is a comma, an operator "
    "or a keyword missing or misspelled?"
)
_MOST_NAMES = 3  # keywords that are read as names in one text
_DOUBLE_QUOTED = "spark.sql.ansi.doubleQuotedIdentifiers"
_SINGLE_CHARACTER_PIPE = "spark.sql.parser.singleCharacterPipeOperator.enabled"


def read_query(text: str, conf: Conf) -> LogicalPlan:
    """The plan of a query's text."""
    return _read(text, conf, _statement)


def read_expression(text: str, conf: Conf) -> Expression:
    """The expression of a text, an Alias if it ends with a name."""
    return _read(text, conf, _lone_expression)


def _statement(parser: PipeParser) -> LogicalPlan:
    plan = parser.query()
    while parser.take(";"):
        pass
    return plan


def _lone_expression(parser: PipeParser) -> Expression:
    expression = parser.named_expression()
    for window in expression.collect(NamedWindow):
        parser.refuse(missing_window(window.window, window.origin))
    return expression


def _read(text: str, conf: Conf, read: Callable[[PipeParser], T]) -> T:
    double_quoted = conf.flag("spark.sql.ansi.enabled") and conf.flag(_DOUBLE_QUOTED)
    tokens = tokenize(text, double_quoted=double_quoted)
    if tokens[-2:][0].symbol == "/*":
        raise whole_text_error(AnalysisError.of("UNCLOSED_BRACKETED_COMMENT"), text)
    if tokens[0].kind == "end":
        raise empty_statement(text)
    if conf.flag(_SINGLE_CHARACTER_PIPE):
        tokens = with_pipes(tokens)
    parser = PipeParser(text, tokens, conf)
    try:
        found = _whole(parser, read)
    except Misfit:
        parser, found = _with_keywords_as_names(parser, read)
    # Parameters are bound to the plan of a text that Spark has read.
    for error in sorted(parser.refusals, key=lambda e: e.condition == "UNBOUND_SQL_PARAMETER"):
        raise error
    return found


def _whole(parser: PipeParser, read: Callable[[PipeParser], T]) -> T:
    found = read(parser)
    if parser.token.kind != "end":
        parser.fail("")
    return found


def _with_keywords_as_names(
    parser: PipeParser, read: Callable[[PipeParser], T]
) -> tuple[PipeParser, T]:
    """Read a text again whose words are keywords where they seem to be.

    Spark reserves no word, and its parser looks ahead as far as it must: in `SELECT a AS FROM t`
    AS is a name, as with FROM for a name the text would not go on. So where a text leaves the
    grammar, the keywords before are read as names, the nearest first. If the text fits then, that
    is its reading; else the one that comes furthest is gone on with.

    Raises:
        AnalysisError: PARSE_SYNTAX_ERROR at the furthest token, which no reading accepts.
    """
    for _ in range(_MOST_NAMES):
        furthest = parser
        for index in range(parser.index, -1, -1):
            token = parser.tokens[index]
            if token.kind != "word" or token.symbol not in _KEYWORDS:
                continue
            tokens = [*parser.tokens]
            tokens[index] = replace(token, symbol="")
            other = PipeParser(parser.text, tokens, parser.conf)
            try:
                return other, _whole(other, read)
            except (Misfit, AnalysisError):
                if other.index > furthest.index:
                    furthest = other
        if furthest is parser:
            break
        parser = furthest
    raise _misfit(parser) from None


def _misfit(parser: PipeParser) -> AnalysisError:
    token, text = parser.token, parser.text
    if parser.index == 0 and token.symbol in _OTHER_STATEMENTS:
        return AnalysisError.of("STATEPLAN_UNSUPPORTED_STATEMENT", symbol=token.symbol)
    at_end = token.kind == "end"
    near = token.text if at_end else f"'{text[token.start : token.stop + 1]}'"
    hint = f"Expected here: {parser.expected}." if parser.expected else _LEFT_OVER
    return syntax_error(near, text, token.start, hint)
