"""From a query's text to its unresolved plan."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

from sqlglot.errors import ParseError, SqlglotError

from ..model.errors import AnalysisError
from ..model.expressions.core import Alias, Expression
from ..model.plans.query_plan import LogicalPlan
from ..model.settings.conf import Conf
from .dialect import QuotedIdentifiers, SparkStreaming
from .expressions import ExpressionReader
from .plans import PlanReader
from .syntax import syntax_error

_UNREAD = "STATEPLAN_UNSUPPORTED_SQL"
_LAST_WORD = re.compile(r"(?P<before>.*\S)\s+(?P<word>[A-Za-z]+)\s*", re.DOTALL)
_DOUBLE_QUOTED = "spark.sql.ansi.doubleQuotedIdentifiers"


@cache
def _dialect(double_quoted: bool) -> Any:
    return QuotedIdentifiers() if double_quoted else SparkStreaming()


def read_query(text: str, conf: Conf) -> LogicalPlan:
    """The plan of a query's text."""
    tree = _tree(text, conf, "statement", lambda parser: parser._parse_statement())
    return PlanReader(ExpressionReader(text, conf)).query(tree)


def read_expression(text: str, conf: Conf) -> Expression:
    """The expression of a text, an Alias if it ends with a name."""
    try:
        tree = _tree(text, conf, "named_expression", lambda parser: parser._parse_expression())
    except AnalysisError as error:
        # Where the last word opens what does not follow it is a name: `qty AS`, `qty > 1 AND`.
        found = _LAST_WORD.fullmatch(text)
        if error.condition != _UNREAD or found is None:
            raise
        child = read_expression(found["before"], conf)
        return child if isinstance(child, Alias) else Alias(child=child, name=found["word"])
    # Through the reader of plans: an expression may hold a subquery.
    return PlanReader(ExpressionReader(text, conf)).expressions.read(tree)


def _tree(text: str, conf: Conf, rule: str, parse: Callable[[Any], Any]) -> Any:
    dialect = _dialect(conf.flag("spark.sql.ansi.enabled") and conf.flag(_DOUBLE_QUOTED))
    try:
        tokens = dialect.tokenize(text)
        trees = dialect.parser()._parse(parse, tokens, text)
    except SqlglotError as error:
        raise _refusal(text, rule, error) from None
    if len(trees) != 1 or trees[0] is None:
        raise _refusal(text, rule, None)
    return trees[0]


def _refusal(text: str, rule: str, error: SqlglotError | None) -> AnalysisError:
    """Spark's own error for the text, or what this front end could not read of Spark's SQL."""
    found = syntax_error(text, rule)
    if found is not None:
        return found
    details = (error.errors[:1] or [{}])[0] if isinstance(error, ParseError) else {}
    place = f" (line {details['line']})" if details.get("line") else ""
    what = details.get("description") or "this form of the query"
    return AnalysisError(
        _UNREAD,
        f"Spark reads this query, stateplan does not{place}: {what}.",
        hint="Write the query in a plainer form.",
    )
