"""The SQL front end: Spark 4.3's streaming SQL, as unresolved plans of the planner's nodes.

sqlglot's tokenizer reads the words; the parsers stand on each other: cursor, constants, calls,
primary expressions, expressions, clauses of tables, relations, grouping, queries.
"""

from __future__ import annotations

from ..model.expressions.core import Expression
from ..model.plans.query_plan import LogicalPlan
from ..model.schemas.ddl import timestamp_type
from ..model.settings.conf import Conf


def parse(text: str, conf: Conf | None = None) -> LogicalPlan:
    """Read one query.

    Raises:
        AnalysisError: PARSE_SYNTAX_ERROR in Spark's words with the place, a bad literal, or
            STATEPLAN_UNSUPPORTED_SQL for what Spark has and stateplan has not.
    """
    from .reading import read_query

    conf = conf or Conf()
    with timestamp_type(conf["spark.sql.timestampType"]):
        return read_query(text, conf)


def parse_expression(text: str, conf: Conf | None = None) -> Expression:
    """Read one expression, with or without `AS name`; raises as `parse`."""
    from .reading import read_expression

    conf = conf or Conf()
    with timestamp_type(conf["spark.sql.timestampType"]):
        return read_expression(text, conf)
