"""Syntax errors in Spark's words; every expectation is what Spark 4.3 itself said."""

from __future__ import annotations

import pytest

from stateplan.planner.model.errors import AnalysisError
from stateplan.planner.sql import parse
from stateplan.planner.sql.earley import first_misfit, tokenize
from stateplan.planner.sql.grammar import rules


@pytest.mark.parametrize(
    ("text", "near", "position"),
    [
        # FROM is read as a column called STREAM: Spark stumbles over what follows.
        ("SELECT user, FROM STREAM events GROUP user", "'events'", 25),
        ("SELECT user, FROM STREAM events", "'events': extra input 'events'", 25),
        ("SELEC user FROM STREAM events", "'SELEC'", 0),
        ("SELECT user FORM STREAM events", "'STREAM'", 17),
        ("SELECT user FROM STREAM events WHERE qty >", "end of input", 42),
        ("SELECT user FROM STREAM events WHERE qty > 1 AND", "'AND': extra input 'AND'", 45),
        ("SELECT user FROM STREAM events GROUP BY", "'BY': extra input 'BY'", 37),
        ("SELECT user FROM STREAM events GROUP user", "'user': extra input 'user'", 37),
        ("SELECT user FROM STREAM events LIMIT 10 20", "'20': extra input '20'", 40),
        ("SELECT CASE WHEN qty > 1 THEN 'a' ELSE 'b' FROM STREAM events", "'qty'", 17),
        ("SELECT user FROM STREAM events WHERE qty IN (1 2)", "'2': extra input '2'", 47),
        ("SELECT user FROM STREAM events WHERE qty IN (1, 2",
         "end of input: extra input end of input", 49),
        ("SELECT user FROM STREAM events WHERE qty BETWEEN 1 OR 2", "'OR': missing 'AND'", 51),
        ("SELECT sum(qty FROM STREAM events", "'FROM': missing ')'", 15),
        ("SELECT user[0", "end of input: missing ']'", 13),
        ("SELECT user, , qty FROM STREAM events", "','", 13),
        ("SELECT user FROM STREAM e; SELECT 1", "'SELECT': extra input 'SELECT'", 27),
        ("SELECT user FROM STREAM events e WATERMARK ts", "'WATERMARK'", 33),
        ("SELECT user FROM STREAM events WATERMARK ts DELAY OF 10 SECONDS",
         "'10': missing 'INTERVAL'", 53),
        ("SELECT user FROM STREAM events WATERMARK ts DELAY OF INTERVAL '10 minutes'",
         "end of input", 74),
        (")", "')'", 0),
    ],
)  # fmt: skip
def test_syntax_error(text: str, near: str, position: int) -> None:
    with pytest.raises(AnalysisError) as caught:
        parse(text)
    assert caught.value.condition == "PARSE_SYNTAX_ERROR"
    assert caught.value.message == (
        f"[PARSE_SYNTAX_ERROR] Syntax error at or near {near}. SQLSTATE: 42601 "
        f"(line 1, pos {position})\n\n== SQL ==\n{text}\n{'-' * position}^^^"
    )


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


def test_a_query_that_only_spark_reads_is_no_syntax_error() -> None:
    with pytest.raises(AnalysisError) as caught:
        parse("SELECT user FROM STREAM events WHERE GROUP BY user")  # WHERE is the alias of events
    assert caught.value.condition == "STATEPLAN_UNSUPPORTED_SQL"


def test_the_grammar_uses_no_rule_that_it_does_not_have() -> None:
    used = {symbol for options in rules().values() for option in options for symbol in option}
    missing = {s for s in used if s.isidentifier() and s.islower() and s not in rules()}
    assert not missing


def test_misfit_says_what_could_stand_there() -> None:
    found = first_misfit(tokenize("SELECT a[1 FROM b"), "statement")
    assert found is not None
    index, wanted = found
    assert index == 4 and "']'" in wanted and "FROM" not in wanted
