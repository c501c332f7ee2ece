"""What analysis refuses, in Spark 4.3's words."""

from __future__ import annotations

import pytest

from stateplan.planner.model.catalog import Source
from stateplan.planner.model.errors import AnalysisError
from stateplan.planner.model.functions.text_values import edit_distance
from stateplan.planner.model.schemas.ddl import parse_schema
from stateplan.planner.model.settings.conf import Conf
from stateplan.planner.sql import parse
from stateplan.rules.analysis import analyze

CATALOG = {
    "events": Source(
        name="events", schema=parse_schema("user STRING, ts TIMESTAMP, amount DOUBLE, qty INT")
    ),
    "other": Source(
        name="other", schema=parse_schema("user STRING, v BIGINT, s STRUCT<a: INT>, m MAP<INT,INT>")
    ),
    "stat": Source(name="stat", schema=parse_schema("user STRING"), streaming=False),
}


def refused(sql: str) -> AnalysisError:
    conf = Conf()
    with pytest.raises(AnalysisError) as caught:
        analyze(parse(sql, conf), CATALOG, conf)
    return caught.value


@pytest.mark.parametrize(
    ("sql", "condition"),
    [
        ("SELECT nope FROM STREAM events", "UNRESOLVED_COLUMN.WITH_SUGGESTION"),
        ("SELECT nope", "UNRESOLVED_COLUMN.WITHOUT_SUGGESTION"),
        ("SELECT 1 FROM nope", "TABLE_OR_VIEW_NOT_FOUND"),
        ("SELECT 1 FROM STREAM stat", "_LEGACY_ERROR_TEMP_1008"),
        ("SELECT foo(qty) FROM STREAM events", "UNRESOLVED_ROUTINE"),
        ("SELECT upper() FROM STREAM events", "WRONG_NUM_ARGS.WITHOUT_SUGGESTION"),
        ("SELECT upper(DISTINCT user) FROM STREAM events",
         "INVALID_SQL_SYNTAX.FUNCTION_WITH_UNSUPPORTED_SYNTAX"),
        ("SELECT s.x FROM STREAM other", "FIELD_NOT_FOUND"),
        ("SELECT v.x FROM STREAM other", "INVALID_EXTRACT_BASE_FIELD_TYPE"),
        ("SELECT x.* FROM STREAM other", "CANNOT_RESOLVE_STAR_EXPAND"),
        ("SELECT user FROM STREAM events, STREAM other", "AMBIGUOUS_REFERENCE"),
        ("SELECT qty AS n, count(*) AS n FROM STREAM events GROUP BY qty ORDER BY n",
         "UNRESOLVED_COLUMN.WITH_SUGGESTION"),
        ("SELECT 1 FROM STREAM events JOIN STREAM other USING (qty)",
         "UNRESOLVED_USING_COLUMN_FOR_JOIN"),
        ("SELECT 1 FROM STREAM events JOIN STREAM other ON qty",
         "JOIN_CONDITION_IS_NOT_BOOLEAN_TYPE"),
        ("SELECT user FROM STREAM events WHERE qty", "DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN"),
        ("SELECT user FROM STREAM events WHERE count(*) > 1", "INVALID_WHERE_CONDITION"),
        ("SELECT CAST(s AS INT) FROM STREAM other", "DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION"),
        ("SELECT qty, count(*) FROM STREAM events GROUP BY 3", "GROUP_BY_POS_OUT_OF_RANGE"),
        ("SELECT qty, count(*) FROM STREAM events GROUP BY 2", "GROUP_BY_POS_AGGREGATE"),
        ("SELECT qty FROM STREAM events GROUP BY sum(qty)", "GROUP_BY_AGGREGATE"),
        ("SELECT user, count(*) FROM STREAM events GROUP BY qty", "MISSING_AGGREGATION"),
        ("SELECT user, count(*) FROM STREAM events", "MISSING_GROUP_BY"),
        ("SELECT sum(count(*)) FROM STREAM events", "NESTED_AGGREGATE_FUNCTION"),
        ("SELECT max_by(user, qty, 0) FROM STREAM events", "DATATYPE_MISMATCH.VALUE_OUT_OF_RANGE"),
        ("SELECT min_by(user, qty, qty) FROM STREAM events",
         "DATATYPE_MISMATCH.NON_FOLDABLE_INPUT"),
        ("SELECT user FROM STREAM events ORDER BY 2", "ORDER_BY_POS_OUT_OF_RANGE"),
        ("SELECT row_number() FROM STREAM events", "WINDOW_FUNCTION_WITHOUT_OVER_CLAUSE"),
        ("SELECT upper(user) OVER (ORDER BY qty) FROM STREAM events",
         "UNSUPPORTED_EXPR_FOR_WINDOW"),
        ("SELECT 1 FROM STREAM events WHERE rank() OVER (ORDER BY qty) = 1",
         "WINDOW_FUNCTION_NOT_ALLOWED_IN_CLAUSE"),
        ("SELECT 1 FROM STREAM events WHERE explode(array(1)) = 1",
         "UNSUPPORTED_GENERATOR.OUTSIDE_SELECT"),
        ("SELECT explode(array(1)) + 1 FROM STREAM events",
         "UNSUPPORTED_GENERATOR.NESTED_IN_EXPRESSIONS"),
        ("SELECT window_time(ts) FROM STREAM events", "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE"),
        ("SELECT DISTINCT ON (nope) user FROM STREAM events",
         "UNRESOLVED_COLUMN_AMONG_FIELD_NAMES"),
        ("SELECT user FROM STREAM events LIMIT -1",
         "INVALID_LIMIT_LIKE_EXPRESSION.IS_NEGATIVE"),
        ("SELECT user FROM STREAM events LIMIT 'a'", "INVALID_LIMIT_LIKE_EXPRESSION.DATA_TYPE"),
        ("SELECT user FROM STREAM events UNION ALL SELECT user, v FROM STREAM other",
         "NUM_COLUMNS_MISMATCH"),
        ("SELECT ts FROM STREAM events UNION ALL SELECT v FROM STREAM other",
         "INCOMPATIBLE_COLUMN_TYPE"),
        ("SELECT DISTINCT m FROM STREAM other", "UNSUPPORTED_FEATURE.SET_OPERATION_ON_MAP_TYPE"),
        ("SELECT 1 FROM STREAM events AS e (a, b)", "ASSIGNMENT_ARITY_MISMATCH"),
        ("SELECT 1 FROM STREAM events WATERMARK user DELAY OF INTERVAL 1 DAY",
         "EVENT_TIME_IS_NOT_ON_TIMESTAMP_TYPE"),
        ("SELECT qty AS q, qty AS q, q FROM STREAM events", "AMBIGUOUS_LATERAL_COLUMN_ALIAS"),
        ("SELECT qty AS q, sum(q) FROM STREAM events",
         "UNSUPPORTED_FEATURE.LATERAL_COLUMN_ALIAS_IN_AGGREGATE_FUNC"),
    ],
)  # fmt: skip
def test_conditions(sql: str, condition: str) -> None:
    error = refused(sql)
    assert error.condition == condition
    if not condition.startswith("_LEGACY"):
        assert error.message.startswith(f"[{condition}] ")


@pytest.mark.parametrize(
    ("window", "condition"),
    [
        ("window(ts)", "WRONG_NUM_ARGS.WITHOUT_SUGGESTION"),
        ("window(ts, user)", "_LEGACY_ERROR_TEMP_1207"),
        ("window(ts, '1 month')", "_LEGACY_ERROR_TEMP_3231"),
        ("window(ts, 'soon')", "CANNOT_PARSE_INTERVAL"),
        ("window(qty, '1 day')", "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE"),
        ("window(ts, '-1 day')", "DATATYPE_MISMATCH.VALUE_OUT_OF_RANGE"),
        ("window(ts, '1 day', '2 days')", "DATATYPE_MISMATCH.PARAMETER_CONSTRAINT_VIOLATION"),
        ("window(ts, '1 day', '1 day', '1 day')",
         "DATATYPE_MISMATCH.PARAMETER_CONSTRAINT_VIOLATION"),
        ("window(ts, '1 day'), window(ts, '1 hour')", "_LEGACY_ERROR_TEMP_1039"),
        ("session_window(ts, INTERVAL 5 MINUTES)", "_LEGACY_ERROR_TEMP_1040"),
    ],
)  # fmt: skip
def test_windows(window: str, condition: str) -> None:
    assert refused(f"SELECT count(*) FROM STREAM events GROUP BY {window}").condition == condition


def test_a_function_that_only_spark_has_is_not_called_unknown() -> None:
    error = refused("SELECT parse_json(user) FROM STREAM events")
    assert error.condition == "STATEPLAN_UNSUPPORTED_FUNCTION"
    assert "`parse_json`" in error.message and "line 1 pos 7" in error.message


def test_an_unknown_column_names_the_nearest_and_shows_the_plan_so_far() -> None:
    error = refused("SELECT usr, amount FROM STREAM events")
    assert error.message == (
        "[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column, variable, or function parameter with name"
        " `usr` cannot be resolved. Did you mean one of the following? [`ts`, `user`, `qty`,"
        " `amount`]. SQLSTATE: 42703; line 1 pos 7"
    )
    assert error.tree is not None and error.tree.startswith("'Project ['usr, amount#")
    assert error.hint


def test_the_deepest_operator_is_told_first() -> None:
    error = refused("SELECT above FROM (SELECT below FROM STREAM events) WHERE middle")
    assert "`below`" in error.message


def test_what_having_cannot_reach_stays_unresolved() -> None:
    error = refused("SELECT user, count(*) AS n FROM STREAM events GROUP BY user HAVING qty > 1")
    assert error.tree is not None and error.tree.startswith("'UnresolvedHaving ('qty > 1)")


@pytest.mark.parametrize(("one", "other", "steps"), [("usr", "`ts`", 3), ("", "ab", 2)])
def test_distance(one: str, other: str, steps: int) -> None:
    assert edit_distance(one, other) == steps
