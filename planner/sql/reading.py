"""From a query's text to its unresolved plan."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from sqlglot.errors import SqlglotError

from ..model.conf import Conf
from ..model.errors import AnalysisError
from ..model.expressions import Expression
from ..model.logical import LogicalPlan
from .dialect import SparkStreaming
from .expressions import ExpressionReader
from .plans import PlanReader


@cache
def _dialect() -> Any:
    return SparkStreaming()


def read_query(text: str, conf: Conf) -> LogicalPlan:
    """The plan of a query's text."""
    tree = _tree(text, lambda parser: parser._parse_statement())
    return PlanReader(ExpressionReader(text, conf)).query(tree)


def read_expression(text: str, conf: Conf) -> Expression:
    """The expression of a text, an Alias if it ends with a name."""
    tree = _tree(text, lambda parser: parser._parse_expression())
    return ExpressionReader(text, conf).read(tree)


def _tree(text: str, parse: Callable[[Any], Any]) -> Any:
    dialect = _dialect()
    try:
        tokens = dialect.tokenize(text)
        trees = dialect.parser()._parse(parse, tokens, text)
    except SqlglotError as error:
        raise _syntax_error(text, error) from None
    if len(trees) != 1 or trees[0] is None:
        raise _syntax_error(text, None)
    return trees[0]


def _syntax_error(text: str, error: SqlglotError | None) -> AnalysisError:
    return AnalysisError("PARSE_SYNTAX_ERROR", f"[PARSE_SYNTAX_ERROR] {error}")
