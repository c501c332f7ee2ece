"""What a stream does not support, by output mode, in Spark 4.3's words."""

from __future__ import annotations

import pytest

from stateplan.planner.model.catalog import Source
from stateplan.planner.model.errors import StreamingCheckError
from stateplan.planner.model.schemas.ddl import parse_schema
from stateplan.planner.model.settings.conf import Conf
from stateplan.planner.sql import parse
from stateplan.rules.analysis import analyze
from stateplan.rules.support import check_for_streaming

CATALOG = {
    "l": Source(name="l", schema=parse_schema("k STRING, t TIMESTAMP, a INT")),
    "r": Source(name="r", schema=parse_schema("k STRING, u TIMESTAMP, b INT")),
    "s": Source(name="s", schema=parse_schema("k STRING, c INT"), streaming=False),
}
LATE = "FROM STREAM l WATERMARK t DELAY OF INTERVAL 1 MINUTE"
JOINED = (
    "SELECT l.a FROM STREAM l WATERMARK t DELAY OF INTERVAL 1 MINUTE {} JOIN STREAM r"
    " WATERMARK u DELAY OF INTERVAL 1 MINUTE ON l.k = r.k"
)


def check(sql: str, mode: str, **settings: str) -> None:
    conf = Conf({key.replace("__", "."): value for key, value in settings.items()})
    check_for_streaming(analyze(parse(sql, conf), CATALOG, conf), mode, conf)


def refusal(sql: str, mode: str) -> str:
    with pytest.raises(StreamingCheckError) as caught:
        check(sql, mode)
    assert caught.value.hint
    return caught.value.message


@pytest.mark.parametrize(
    ("sql", "mode"),
    [
        (f"SELECT count(*) {LATE} GROUP BY window(t, '1 minute')", "append"),
        (f"SELECT count(*) {LATE} GROUP BY t, k", "append"),
        ("SELECT count(*) FROM STREAM l", "update"),
        ("SELECT k, count(*) FROM STREAM l GROUP BY k ORDER BY k LIMIT 3", "complete"),
        (f"SELECT DISTINCT k, t {LATE}", "append"),
        ("SELECT k FROM STREAM l LIMIT 3", "append"),
        ("SELECT l.a FROM STREAM l JOIN STREAM r ON l.k = r.k", "update"),
        ("SELECT l.a FROM STREAM l LEFT JOIN s ON l.k = s.k", "append"),
        (JOINED.format("LEFT") + " AND t >= u - INTERVAL 1 HOUR", "append"),
        (JOINED.format("RIGHT") + " AND t <= u - INTERVAL 1 HOUR", "append"),
        (JOINED.format("LEFT") + " AND t = u", "append"),
    ],
)
def test_supported(sql: str, mode: str) -> None:
    check(sql, mode)


@pytest.mark.parametrize(
    ("sql", "mode", "words"),
    [
        ("SELECT c FROM s", "append", "without streaming sources"),
        ("SELECT k FROM STREAM l", "complete", "no streaming aggregations"),
        ("SELECT k, count(*) FROM STREAM l GROUP BY k", "append", "without watermark"),
        (f"SELECT k, count(*) {LATE} GROUP BY k", "append", "without watermark"),
        (f"SELECT count(*) {LATE} GROUP BY t + INTERVAL 1 DAY", "append", "without watermark"),
        ("SELECT DISTINCT k FROM STREAM l", "append", "without watermark"),
        (f"SELECT count(*) {LATE} GROUP BY session_window(t, '1 second'), k", "update", "session"),
        ("SELECT count(DISTINCT k) FROM STREAM l", "update", "Distinct aggregations"),
        ("SELECT k FROM STREAM l LIMIT 3", "update", "Limits are not supported"),
        ("SELECT k FROM STREAM l OFFSET 3", "append", "Offset is not supported"),
        ("SELECT rank() OVER (PARTITION BY k ORDER BY t) AS n FROM STREAM l", "append",
         "(as column `n`) on streaming"),
        ("SELECT k FROM STREAM l ORDER BY k", "append", "Sorting is not supported"),
        ("SELECT DISTINCT k FROM STREAM l ORDER BY k", "complete", "Sorting is not supported"),
        ("SELECT DISTINCT k FROM STREAM l ORDER BY k LIMIT 2", "complete", "Sorting is not"),
        ("SELECT k FROM STREAM l UNION ALL SELECT k FROM s", "append", "Union between"),
        ("SELECT n, count(*) FROM (SELECT count(*) AS n FROM STREAM l GROUP BY k) GROUP BY n",
         "update", "Detected pattern of possible 'correctness' issue"),
        (JOINED.format("LEFT"), "append", "Stream-stream LeftOuter join"),
        (JOINED.format("LEFT") + " AND t <= u", "append", "Stream-stream LeftOuter join"),
        (JOINED.format("FULL"), "update", "FullOuter join between two streaming"),
        (JOINED.format(""), "complete", "no streaming aggregations"),
        (JOINED.format("LEFT ANTI"), "append", "LeftAnti joins with a streaming"),
        ("SELECT l.a FROM STREAM l RIGHT JOIN s ON l.k = s.k", "append", "RightOuter join with"),
        ("SELECT l.a FROM STREAM l FULL JOIN s ON l.k = s.k", "append", "FullOuter joins with"),
        ("SELECT c FROM s LEFT JOIN STREAM l ON l.k = s.k", "append", "LeftOuter join with"),
    ],
)  # fmt: skip
def test_refused(sql: str, mode: str, words: str) -> None:
    assert words in refusal(sql, mode)


def test_the_tree_is_that_of_the_operator() -> None:
    with pytest.raises(StreamingCheckError) as caught:
        check("SELECT k FROM (SELECT k FROM STREAM l LIMIT 3)", "update")
    assert caught.value.tree is not None and caught.value.tree.startswith("~LocalLimit 3")


def test_the_chain_check_can_be_switched_off() -> None:
    sql = "SELECT n, count(*) FROM (SELECT count(*) AS n FROM STREAM l GROUP BY k) GROUP BY n"
    off = {"spark__sql__streaming__statefulOperator__checkCorrectness__enabled": "false"}
    check(sql, "update", **off)
