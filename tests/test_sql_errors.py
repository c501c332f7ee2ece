"""Syntax errors: every condition and line is what a live Spark 4.3 says of the text."""

from __future__ import annotations

import re

import pytest

from stateplan.planner.model.errors import AnalysisError
from stateplan.planner.model.settings.conf import Conf
from stateplan.planner.sql import parse


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("SELECT user,\nFROM STREAM events\nGROUP user", 2),
        ("SELECT user,\nFROM STREAM\nevents", 3),
        ("\nSELEC user FROM STREAM events", 2),
        ("SELECT user FORM\nSTREAM events", 2),
        ("SELECT user FROM STREAM events\nWHERE qty >", 2),
        ("SELECT user FROM STREAM events WHERE qty > 1\nAND", 2),
        ("SELECT user FROM STREAM events\nGROUP\nBY", 3),
        ("SELECT user FROM STREAM events\nGROUP\nuser", 3),
        ("SELECT user FROM STREAM events LIMIT 10\n20", 2),
        ("SELECT user FROM STREAM events WHERE qty IN (1\n2)", 2),
        ("SELECT user FROM STREAM events WHERE qty IN (1,\n2", 2),
        ("SELECT user FROM STREAM events WHERE qty BETWEEN 1\nOR 2", 2),
        ("SELECT sum(qty\nFROM STREAM events", 2),
        ("SELECT user[\n0", 2),
        ("SELECT user,\n, qty FROM STREAM events", 2),
        ("SELECT user FROM STREAM e;\nSELECT 1", 2),
        ("SELECT user FROM STREAM events e\nWATERMARK ts", 2),
        ("SELECT user FROM STREAM events WATERMARK ts DELAY OF\n10 SECONDS", 2),
        ("SELECT user FROM STREAM events WATERMARK ts DELAY OF INTERVAL '10 minutes'\n", 2),
        ("SELECT user FROM STREAM events WATERMARK ts DELAY OF INTERVAL 10\nSECNDS", 2),
        ("SELECT 1 +\n)", 2),
        ("SELECT 'user\nFROM STREAM events", 1),
        ("SELECT (user AS u\n)\nFROM STREAM events", 2),
        ("SELECT a FROM t JOIN u\nUSING a", 2),
        ("SELECT a FROM t NATURAL JOIN u\nON a = b", 2),
        ("SELECT cast(a\nINT) FROM t", 2),
        ("SELECT a FROM t PIVOT (sum(b)\nIN (1))", 2),
        ("SELECT a FROM range(3)\nTABLESAMPLE (10 PERCENT)", 2),
        ("FROM t\nWHERE a", 2),
        ("SELECT count(*) OVER (ORDER BY a ROWS 1\n) FROM t", 2),
        ("SELECT a FROM t UNION\nLIMIT 1", 2),
        ("WITH a (SELECT 1)\nb AS (SELECT 2) SELECT 3", 2),
        ("SELECT a FROM t LATERAL VIEW explode(b) c AS d\nJOIN u", 2),
        ("SELECT a FROM t WHERE a NOT\n1", 1),
    ],
)  # fmt: skip
def test_syntax_error(text: str, line: int) -> None:
    with pytest.raises(AnalysisError) as caught:
        parse(text)
    assert caught.value.condition == "PARSE_SYNTAX_ERROR"
    found = re.search(r"SQLSTATE: 42601 \(line (\d+), pos (\d+)\)", caught.value.message)
    assert found is not None and int(found[1]) == line
    assert caught.value.message.startswith("[PARSE_SYNTAX_ERROR] Syntax error at or near ")
    marked = f"{'-' * int(found[2])}^^^"
    assert marked in caught.value.message.split("== SQL ==\n")[1].split("\n")
    assert caught.value.hint


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a FROM (SELECT b FROM t WHERE) x",
        "SELECT user FROM STREAM events WHERE GROUP BY user",
        "SELECT a AS, b AS FROM t",
        "SELECT a ->\nFROM t",
        "SELECT a FROM STREAM WHERE",
        "SELECT a DISTRIBUTE FROM STREAM lines",
        "SELECT count(*) AS n MINUS FROM STREAM events",
        "FROM t SELECT a SELECT b LIMIT 1",
    ],
)
def test_keywords_are_names_where_nothing_else_fits(text: str) -> None:
    parse(text)


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("SELECT a FROM t WHERE a ! LIKE 'x'", "SYNTAX_DISCONTINUED.BANG_EQUALS_NOT"),
        ("SELECT a /* x", "UNCLOSED_BRACKETED_COMMENT"),
        ("SELECT é FROM t", "INVALID_IDENTIFIER"),
        ("SELECT trim(BOTH 'x') FROM t", "UNSUPPORTED_TYPED_LITERAL"),
        ("SELECT a FROM t, LATERAL u",
         "INVALID_SQL_SYNTAX.LATERAL_WITHOUT_SUBQUERY_OR_TABLE_VALUED_FUNC"),
        ("SELECT DATE 'x' FROM t TABLESAMPLE ()", "_LEGACY_ERROR_TEMP_0014"),
        ("SELECT DATE 'x' FROM t TABLESAMPLE (", "PARSE_SYNTAX_ERROR"),
        ("SELECT a FROM t GROUP BY a b, c", "PARSE_SYNTAX_ERROR"),
        ("SELECT /*+ */ a FROM t", "PARSE_SYNTAX_ERROR"),
        ("SELECT /*+ BROADCAST(a FROM t", "PARSE_SYNTAX_ERROR"),
    ],
)  # fmt: skip
def test_what_spark_reads_and_refuses(text: str, condition: str) -> None:
    with pytest.raises(AnalysisError) as caught:
        parse(text)
    assert caught.value.condition == condition


def test_the_pipe_operator_that_is_missing_is_refused_by_name() -> None:
    with pytest.raises(AnalysisError) as caught:
        parse("FROM STREAM events |> BIN BY (RANGE a TO b WIDTH INTERVAL 1 HOUR)")
    assert caught.value.condition == "STATEPLAN_UNSUPPORTED_SQL"
    assert "BIN BY" in caught.value.message and "(line 1, pos 22)" in caught.value.message


def test_a_single_character_is_a_pipe_only_if_the_setting_says_so() -> None:
    text = "FROM STREAM events | LIMIT 3"
    assert parse(text) == parse(text.replace("|", "|>"))
    with pytest.raises(AnalysisError) as caught:
        parse(text, Conf({"spark.sql.parser.singleCharacterPipeOperator.enabled": "false"}))
    assert caught.value.condition == "PARSE_SYNTAX_ERROR"


def test_the_line_is_marked_below_itself() -> None:
    with pytest.raises(AnalysisError) as caught:
        parse("SELECT a\nFROM x y z\nWHERE b")
    assert caught.value.message.endswith(
        "(line 2, pos 9)\n\n== SQL ==\nSELECT a\nFROM x y z\n---------^^^\nWHERE b"
    )


@pytest.mark.parametrize(
    ("text", "name", "position"),
    [("SELECT a FROM STREAM my-table", "my-table", 23), ("SELECT a AS b-c-d FROM x", "b-c-d", 13)],
)
def test_hyphens_need_quotes(text: str, name: str, position: int) -> None:
    with pytest.raises(AnalysisError) as caught:
        parse(text)
    assert caught.value.condition == "INVALID_IDENTIFIER"
    assert f"must be back quoted as: `{name}`" in caught.value.message
    assert caught.value.message.endswith(f"{text}\n{'-' * position}^^^")


@pytest.mark.parametrize("text", ["", "  ", "-- nothing"])
def test_empty_statement(text: str) -> None:
    with pytest.raises(AnalysisError) as caught:
        parse(text)
    assert caught.value.condition == "PARSE_EMPTY_STATEMENT"
