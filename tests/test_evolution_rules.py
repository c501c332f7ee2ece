"""What counts as a change, what does not, and what a checkpoint alone tells."""

from __future__ import annotations

from pathlib import Path

import pytest
from evolutions import Case, checked, lay_checkpoint, queries

import stateplan
from stateplan.planner.evolution.check import check_against
from stateplan.planner.evolution.diff import diff_plans
from stateplan.planner.evolution.reading import read_checkpoint
from stateplan.planner.evolution.side import document_of, side_from, side_of
from stateplan.planner.query import Query

COUNT = "SELECT k, count(*) AS n FROM STREAM events GROUP BY k"


SAME = {
    "order of conjuncts": (
        "SELECT k, sum(v) AS s FROM STREAM events WHERE v > 1 AND w < 9 GROUP BY k",
        "SELECT k, sum(v) AS s FROM STREAM events WHERE w < 9 AND 1 < v GROUP BY k",
    ),
    "order of a union": (
        "SELECT k, count(*) FROM (SELECT k FROM STREAM events WHERE v > 1 UNION ALL"
        " SELECT g FROM STREAM events) GROUP BY k",
        "SELECT k, count(*) FROM (SELECT g AS k FROM STREAM events UNION ALL"
        " SELECT k FROM STREAM events WHERE v > 1) GROUP BY k",
    ),
    "alternatives as a list": (
        "SELECT k, count(*) FROM STREAM events WHERE v = 1 OR v = 2 GROUP BY k",
        "SELECT k, count(*) FROM STREAM events WHERE v IN (2, 1) GROUP BY k",
    ),
    "a case of two": (
        "SELECT k, sum(CASE WHEN v > 2 THEN 1 ELSE 0 END) FROM STREAM events GROUP BY k",
        "SELECT k, sum(if(2 < v, 1, 0)) FROM STREAM events GROUP BY k",
    ),
    "branches of one stream": (
        "SELECT k, count(*) FROM (SELECT k FROM STREAM events UNION ALL"
        " SELECT g FROM STREAM events) GROUP BY k",
        "SELECT k, count(*) FROM (SELECT g AS k FROM STREAM events UNION ALL"
        " SELECT k FROM STREAM events) GROUP BY k",
    ),
    "an alias of a key": (
        COUNT,
        "SELECT a, count(*) FROM (SELECT k AS a FROM STREAM events) GROUP BY a",
    ),
    "a slide written out": (
        "SELECT window(ts, '1 minute') AS t, count(*) FROM STREAM events GROUP BY 1",
        "SELECT window(ts, '60 seconds', '1 minute') AS t, count(*) FROM STREAM events GROUP BY 1",
    ),
    "a function's other name": (
        "SELECT k, stddev(v) AS s, mean(w) AS m FROM STREAM events GROUP BY k",
        "SELECT k, stddev_samp(v) AS s, avg(w) AS m FROM STREAM events GROUP BY k",
    ),
    "a Python function on another line": (
        "events.select(F.udf(lambda k: k.upper())('k').alias('k')).groupBy('k').count()",
        "events.select(F.udf( \n lambda k: k.upper())('k').alias('k')).groupBy('k').count()",
    ),
    "grouping sets in another order": (
        "SELECT k, g, count(*) FROM STREAM events GROUP BY GROUPING SETS ((k), (g), (k, g))",
        "SELECT k, g, count(*) FROM STREAM events GROUP BY GROUPING SETS ((k, g), (k), (g))",
    ),
    "a condition of a count": (
        "SELECT k, count(*) FILTER (WHERE v > 2 AND w > 3) AS n FROM STREAM events GROUP BY k",
        "SELECT k, count_if(v > 2 AND w > 3) AS n FROM STREAM events GROUP BY k",
    ),
    "a condition of a count as a case": (
        "SELECT k, count(CASE WHEN v > 2 THEN 1 END) AS n FROM STREAM events GROUP BY k",
        "SELECT k, count_if(v > 2) AS n FROM STREAM events GROUP BY k",
    ),
    "a condition of a sum, and of a percentile, within it": (
        "SELECT k, sum(IF(g = 'x', v, NULL)) AS s, percentile(CASE WHEN w > 1 THEN v END, 0.5) AS p"
        " FROM STREAM events GROUP BY k",
        "SELECT k, sum(v) FILTER (WHERE g = 'x') AS s, percentile(v, 0.5) FILTER (WHERE w > 1) AS p"
        " FROM STREAM events GROUP BY k",
    ),
    "coalesce within coalesce": (
        "SELECT coalesce(coalesce(k, g), 'z') AS c, count(*) FROM STREAM events GROUP BY 1",
        "SELECT coalesce(k, g, 'z') AS c, count(*) FROM STREAM events GROUP BY 1",
    ),
    "cases within one another": (
        "SELECT CASE WHEN v > 5 THEN 'h' WHEN v > 2 THEN 'm' ELSE 'l' END AS c, count(*)"
        " FROM STREAM events GROUP BY 1",
        "SELECT if(v >= 6, 'h', if(v >= 3, 'm', 'l')) AS c, count(*) FROM STREAM events GROUP BY 1",
    ),
    "a value that a filter keeps from being null": (
        "SELECT k, sum(v) AS s, count(*) AS n FROM STREAM events WHERE v IS NOT NULL GROUP BY k",
        "SELECT k, sum(coalesce(v, 0)) AS s, count(v) AS n FROM STREAM events WHERE v IS NOT NULL"
        " GROUP BY k",
    ),
    "nulls left out that a sum leaves out itself": (
        "SELECT k, sum(v) AS s, count(v) AS n FROM STREAM events GROUP BY k",
        "SELECT k, sum(v) FILTER (WHERE v IS NOT NULL) AS s,"
        " sum(IF(v IS NOT NULL, 1, 0)) AS n FROM STREAM events GROUP BY k",
    ),
    "a size that is not null leaves no null": (
        "SELECT k, count(*) FROM STREAM events WHERE size(split(g, ',')) > 1 GROUP BY k",
        "SELECT k, count(*) FROM STREAM events WHERE g IS NOT NULL AND size(split(g, ',')) > 1"
        " GROUP BY k",
    ),
    "an equality that implies the rest": (
        "SELECT k, count(*) FROM STREAM events WHERE g = 'x' GROUP BY k",
        "SELECT k, count(*) FROM STREAM events WHERE g = 'x' AND g IN ('x', 'y') AND g <> 'z'"
        " GROUP BY k",
    ),
    "lists of alternatives": (
        "SELECT k, count(*) FROM STREAM events WHERE v IN (1, 2) OR v = 3 GROUP BY k",
        "SELECT k, count(*) FROM STREAM events WHERE v IN (3, 1, 2) GROUP BY k",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SAME)
def test_no_change(name: str, tmp_path: Path) -> None:
    was, now = queries(*SAME[name])
    report = checked(was, now, tmp_path)
    assert report.verdict == "same", report.findings
    assert not diff_plans(side_of(was.execution, {}), side_of(now.execution, {})).differences


DIFFERS = {
    "code of a Python function": (
        "events.select(F.udf(lambda k: k.upper())('k').alias('k')).groupBy('k').count()",
        "events.select(F.udf(lambda k: k.lower())('k').alias('k')).groupBy('k').count()",
        "keys",
    ),
    "filter in the other branch of a union": (
        "SELECT k, count(*) FROM (SELECT k FROM STREAM l WHERE v > 1 UNION ALL"
        " SELECT k FROM STREAM r) GROUP BY k",
        "SELECT k, count(*) FROM (SELECT k FROM STREAM l UNION ALL"
        " SELECT k FROM STREAM r WHERE w > 1) GROUP BY k",
        "input",
    ),
    "an operator below": (
        "events.dropDuplicates(['k', 'v']).groupBy('k').count()",
        "events.dropDuplicates(['k', 'w']).groupBy('k').count()",
        "keys",
    ),
    "a condition within a first value, which nulls count for": (
        "SELECT k, first(IF(g = 'x', v, NULL)) AS f FROM STREAM events GROUP BY k",
        "SELECT k, first(v) FILTER (WHERE g = 'x') AS f FROM STREAM events GROUP BY k",
        "aggregates",
    ),
    "a generator": (
        "SELECT x, count(*) FROM (SELECT explode(split(k, ',')) x FROM STREAM events) GROUP BY x",
        "SELECT x, count(*) FROM (SELECT explode(split(k, ';')) x FROM STREAM events) GROUP BY x",
        "keys",
    ),
    "names in a text that is kept": (
        "SELECT k, max(to_json(struct(v AS p))) AS m FROM STREAM events GROUP BY k",
        "SELECT k, max(to_json(struct(v AS q))) AS m FROM STREAM events GROUP BY k",
        "aggregates",
    ),
    "a negated condition, in place of the values the other way round: null fulfils neither": (
        "SELECT k, max(IF(v > w, v, w)) AS m FROM STREAM events GROUP BY k",
        "SELECT k, max(IF(NOT (v > w), w, v)) AS m FROM STREAM events GROUP BY k",
        "aggregates",
    ),
    "a sum that is null where a count is 0": (
        "SELECT k, count(*) FILTER (WHERE v > 3) AS n FROM STREAM events GROUP BY k",
        "SELECT k, sum(1) FILTER (WHERE v > 3) AS n FROM STREAM events GROUP BY k",
        "aggregates",
    ),
    "a sum of condition that may be null": (
        "SELECT k, count_if(v > 3) AS n FROM STREAM events GROUP BY k",
        "SELECT k, sum(CAST(v > 3 AS INT)) AS n FROM STREAM events GROUP BY k",
        "aggregates",
    ),
    "zeros in place of a filter: the sum of no rows is null": (
        "SELECT k, sum(v) FILTER (WHERE g = 'x') AS s FROM STREAM events GROUP BY k",
        "SELECT k, sum(IF(g = 'x', v, 0)) AS s FROM STREAM events GROUP BY k",
        "aggregates",
    ),
    "a count of null that is none of a number": (
        "SELECT coalesce(v > 3, false) AS c, count(*) FROM STREAM events GROUP BY 1",
        "SELECT v > 3 AS c, count(*) FROM STREAM events GROUP BY 1",
        "keys",
    ),
    "a bound that is not implied": (
        "SELECT k, count(*) FROM STREAM events WHERE v > 3 GROUP BY k",
        "SELECT k, count(*) FROM STREAM events WHERE v > 3 AND v < 9 GROUP BY k",
        "input",
    ),
    "another bound": (
        "SELECT k, count(*) FROM STREAM events WHERE v > 3 GROUP BY k",
        "SELECT k, count(*) FROM STREAM events WHERE v >= 3 GROUP BY k",
        "input",
    ),
    "a value that only may be in a list": (
        "SELECT k, count(*) FROM STREAM events WHERE v > 3 AND v IN (1, 5) GROUP BY k",
        "SELECT k, count(*) FROM STREAM events WHERE v > 3 GROUP BY k",
        "input",
    ),
    "minutes of the clock that are no windows of an hour": (
        "SELECT t, count(*) FROM (SELECT window(ts, '1 hour').start AS t FROM STREAM events)"
        " GROUP BY t",
        "SELECT t, count(*) FROM (SELECT date_trunc('MINUTE', ts) AS t FROM STREAM events"
        " WHERE ts IS NOT NULL) GROUP BY t",
        "keys",
    ),
    "rows without a number left out of a count of rows": (
        "SELECT k, count(*) AS n, sum(v) AS s FROM STREAM events GROUP BY k",
        "SELECT k, count(*) AS n, sum(v) AS s FROM STREAM events WHERE v IS NOT NULL GROUP BY k",
        "input",
    ),
    "the time column of a window": (
        "SELECT window(ts, '1 minute') AS t, count(*) AS n FROM STREAM events GROUP BY 1",
        "SELECT window(ts + INTERVAL 1 SECOND, '1 minute') AS t, count(*) AS n FROM STREAM events"
        " GROUP BY 1",
        "keys",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DIFFERS)
def test_state_means_something_else(name: str, tmp_path: Path) -> None:
    was, now, what = DIFFERS[name]
    report = checked(*queries(was, now), tmp_path)
    assert report.verdict == "differs"
    assert what in [finding.what for finding in report.findings]


def test_an_operator_above_a_changed_one_reads_other_rows(tmp_path: Path) -> None:
    was, now, _ = DIFFERS["an operator below"]
    report = checked(*queries(was, now), tmp_path)
    assert [(o.id, o.name, o.verdict) for o in report.operators] == [
        (0, "stateStoreSave", "differs"),
        (1, "dedupe", "differs"),
    ]


def test_text_has_timestamps_without_an_offset(tmp_path: Path) -> None:
    """Measured on Spark: the same file gives other instants in another session time zone."""
    conf = {"spark.sql.session.timeZone": "Asia/Tokyo"}
    latest = "SELECT k, max(ts) AS t FROM STREAM events GROUP BY k"
    assert checked(*queries(latest, latest, conf=conf), tmp_path / "a").verdict == "differs"
    assert checked(*queries(COUNT, COUNT, conf=conf), tmp_path / "b").verdict == "same"


@pytest.mark.parametrize(
    ("function", "verdict"),
    [
        ("sum(v)", "same"),
        ("percentile_approx(v, 0.5)", "same"),
        ("sort_array(collect_set(v))", "differs"),
        ("percentile(v, 0.5)", "differs"),
        ("mode(v)", "differs"),
        ("approx_count_distinct(v)", "differs"),
        ("sum(v << 20)", "differs"),
    ],
)
def test_a_wider_column_under_a_function(function: str, verdict: str, tmp_path: Path) -> None:
    """Of a buffer in bytes Spark reads eight of each number where four were written."""
    sql = f"SELECT k, {function} AS n FROM STREAM events GROUP BY k"
    wide = "ts TIMESTAMP, k STRING, g STRING, v BIGINT, w INT"
    assert checked(*queries(sql, sql, now_schema=wide), tmp_path).verdict == verdict


@pytest.mark.parametrize(
    ("arguments", "verdict"), [("0.9D, 100", "stale"), ("0.5D, 50", "differs")]
)
def test_another_share_or_accuracy_of_a_summary(
    arguments: str, verdict: str, tmp_path: Path
) -> None:
    """What a summary has left out went by its accuracy; it is asked for a share at the end."""
    sql = "SELECT k, percentile_approx(v, {}) AS p FROM STREAM events GROUP BY k"
    pair = queries(sql.format("0.5D, 100"), sql.format(arguments))
    assert checked(*pair, tmp_path).verdict == verdict


def test_from_append_to_update(tmp_path: Path) -> None:
    """Groups that are open at the change come out with their next row, if there is one."""
    marked = "FROM STREAM events WATERMARK ts DELAY OF INTERVAL 10 SECONDS"
    windows = f"SELECT window(ts, '1 minute') AS w, k, max(v) AS m {marked} GROUP BY 1, 2"
    for having in ("", " HAVING k > 'a'", " HAVING m < 9"):
        sql = windows + having
        pair = queries(sql, sql, mode="append", now_mode="update")
        assert checked(*pair, tmp_path / having[-1:]).verdict == "stale", having


def test_the_size_of_null_is_another_one_without_ansi_mode(tmp_path: Path) -> None:
    sizes = "SELECT size(split(g, ',')) AS n, count(*) FROM STREAM events GROUP BY 1"
    pair = queries(sizes, sizes, conf={"spark.sql.ansi.enabled": "false"})
    assert checked(*pair, tmp_path).verdict == "differs"


@pytest.mark.parametrize(("mode", "verdict"), [("update", "stale"), ("complete", "differs")])
def test_a_zero_for_null_in_a_sum(mode: str, verdict: str, tmp_path: Path) -> None:
    """A group's next row makes its null a number; complete mode shows groups without one, too."""
    sql = "SELECT k, sum({}) AS s FROM STREAM events GROUP BY k"
    pair = queries(sql.format("w"), sql.format("coalesce(w, 0)"), mode=mode)
    assert checked(*pair, tmp_path).verdict == verdict
    back = queries(sql.format("coalesce(w, 0)"), sql.format("w"), mode=mode)
    assert checked(*back, tmp_path / "back").verdict == "differs"


def test_checks_for_null_of_a_key_that_is_joined_are_no_change(tmp_path: Path) -> None:
    """Spark derives them for some ways to write a join, for others it does not."""
    rows = "(SELECT * FROM VALUES 'a', 'b' AS t(c))"
    pair = queries(
        f"SELECT k, count(*) FROM STREAM events WHERE k IN {rows} GROUP BY k",
        f"SELECT k, count(*) FROM STREAM events LEFT SEMI JOIN {rows} ON k = c GROUP BY k",
    )
    assert checked(*pair, tmp_path).verdict == "same"


@pytest.mark.parametrize(
    ("options", "format_", "verdict"),
    [
        ({"maxFilesPerTrigger": "5", "SEP": ";"}, "csv", "same"),
        ({"sep": ","}, "csv", "differs"),
        ({}, "csv", "differs"),
        ({"sep": ";"}, "json", "differs"),
    ],
)
def test_files_that_are_read_in_another_way(
    options: dict[str, str], format_: str, verdict: str, tmp_path: Path
) -> None:
    def reading(own: dict[str, str], kind: str) -> Query:
        source = {"schema": "k STRING", "format": kind, "options": own, "path": "data/events"}
        count = "SELECT k, count(*) AS n FROM STREAM events GROUP BY k"
        return stateplan.sql(count, sources={"events": source}, output_mode="update")

    was, now = reading({"sep": ";"}, "csv"), reading(options, format_)
    assert checked(was, now, tmp_path).verdict == verdict


def test_a_watermark_above_another_is_refused(tmp_path: Path) -> None:
    once = "events.withWatermark('ts', '10 seconds').groupBy(F.window('ts', '1 minute')).count()"
    twice = once.replace("events.", "events.withWatermark('ts', '5 seconds').")
    report = checked(*queries(once, twice, mode="append"), tmp_path)
    assert (report.condition, report.phase) == ("_LEGACY_ERROR_TEMP_3076", "plan")


def test_a_filter_of_keys_is_stale_where_no_watermark_hears_of_it(tmp_path: Path) -> None:
    """Rows that are left out below a watermark move it no more."""
    sql = "SELECT {0} AS key, count(*) AS n FROM STREAM events {1} WHERE k <> 'a' GROUP BY {0}"
    mark = "WATERMARK ts DELAY OF INTERVAL 10 SECONDS"
    for key, marked, verdict in (
        ("k", "", "stale"),
        ("k", mark, "stale"),
        ("window(ts, '1 minute')", mark, "differs"),
    ):
        now = sql.format(key, marked)
        now = now.replace("GROUP BY", "GROUP BY k,")
        pair = queries(now.replace("WHERE k <> 'a'", ""), now)
        assert checked(*pair, tmp_path / verdict / str(len(now))).verdict == verdict, now


@pytest.mark.parametrize(
    ("key", "verdict"), [("session_window(ts, '20 seconds')", "differs"), ("k", "same")]
)
def test_sessions_drop_late_rows_in_complete_mode(key: str, verdict: str, tmp_path: Path) -> None:
    sql = (
        f"SELECT {key} AS a, count(*) AS n FROM STREAM events WATERMARK ts DELAY OF INTERVAL {{0}} "
    )
    sql += f"SECONDS GROUP BY {key}, k"
    pair = queries(sql.format(10), sql.format(50), mode="complete")
    assert checked(*pair, tmp_path).verdict == verdict


def static(rows: list[dict[str, object]]) -> Query:
    return stateplan.sql(
        "SELECT name, count(*) AS n FROM STREAM events JOIN t ON events.k = t.k GROUP BY name",
        sources={
            "events": "k STRING",
            "t": {"schema": "k STRING, name STRING", "static": True, "rows": rows},
        },
        output_mode="complete",
    )


def test_rows_of_a_table_below_state(tmp_path: Path) -> None:
    old, new = static([{"k": "a", "name": "A"}]), static([{"k": "a", "name": "B"}])
    assert checked(old, new, tmp_path).verdict == "differs"


def test_a_renamed_view_of_the_same_files(tmp_path: Path) -> None:
    def over(view: str) -> Query:
        source = {"schema": "k STRING", "path": "data/events"}
        return stateplan.sql(f"SELECT k FROM STREAM {view}", sources={view: source})

    assert checked(over("a"), over("b"), tmp_path).verdict == "same"


def test_swapped_directories_without_rows_in_the_last_batch_are_accepted(tmp_path: Path) -> None:
    """Spark reads the last batch's files again as it starts: only then it sees the directory."""
    union = "SELECT k FROM STREAM l UNION ALL SELECT k FROM STREAM r"
    was, now = queries(
        union, "SELECT k FROM STREAM r UNION ALL SELECT k FROM STREAM l", mode="append"
    )
    lay_checkpoint(tmp_path, was)
    assert check_against(now, read_checkpoint(tmp_path), was).condition == "STREAM_FAILED"
    for place in (1, 2):
        text = (tmp_path / f"offsets/{place}").read_text()
        (tmp_path / f"offsets/{place}").write_text(
            text.replace(f'"logOffset": {place}', '"logOffset": 1')
        )
    report = check_against(now, read_checkpoint(tmp_path), was)
    assert (report.verdict, report.condition) == ("differs", None)


def test_names_of_sources_need_their_setting(tmp_path: Path) -> None:
    def named(value: str) -> Query:
        source = {"schema": "k STRING", "name": "clicks"}
        conf = {"spark.sql.streaming.queryEvolution.enableSourceEvolution": value}
        return stateplan.sql("SELECT k FROM STREAM e", sources={"e": source}, conf=conf)

    report = checked(named("true"), named("false"), tmp_path)
    assert report.condition == "STREAMING_QUERY_EVOLUTION_ERROR.SOURCE_NAMING_NOT_SUPPORTED"
    assert report.phase == "analysis"


def test_pinned_settings_are_ignored(tmp_path: Path) -> None:
    was, now = queries(COUNT, COUNT, conf={"spark.sql.shuffle.partitions": "7"})
    report = checked(was, now, tmp_path)
    assert report.verdict == "same"
    ((setting, pinned, asked),) = [(i.setting, i.pinned, i.asked) for i in report.ignored]
    assert (setting, pinned, asked) == ("spark.sql.shuffle.partitions", "2", "7")


def test_the_checkpoint_alone_tells_names_and_watermarks(tmp_path: Path) -> None:
    was, now = queries(COUNT, "SELECT g, count(*) AS n FROM STREAM events GROUP BY g")
    report = checked(was, now, tmp_path / "names", alone=True)
    assert (report.verdict, report.compared_with) == ("differs", "checkpoint")
    assert report.findings[0].what == "names in the state's key"
    assert report.cannot_tell
    was, now = queries(COUNT, "SELECT k, count(*) AS m FROM STREAM events WHERE v > 2 GROUP BY k")
    assert checked(was, now, tmp_path / "same", alone=True).verdict == "same"


def test_an_old_query_that_is_not_the_checkpoints_is_told(tmp_path: Path) -> None:
    """A wrong --was: what is compared with it says nothing, whatever comes of it."""
    right = Case(id="", was="SELECT k, count(*) AS n FROM STREAM events GROUP BY k", now="").query(
        "was"
    )
    wrong = Case(
        id="", was="SELECT k, g, count(*) AS n FROM STREAM events GROUP BY k, g", now=""
    ).query("was")
    stored = read_checkpoint(lay_checkpoint(tmp_path, right))
    report = check_against(right, stored, wrong)
    assert (report.verdict, [f.what for f in report.findings]) == ("differs", ["old query"])
    assert check_against(right, stored, right).verdict == "same"


def test_a_stored_query_is_the_same_query() -> None:
    query, _ = queries(
        "events.select(F.udf(lambda k: k + '!')('k').alias('k')).groupBy('k').count()", COUNT
    )
    side = side_of(query.execution, {})
    document = document_of(side)
    assert document is not None
    again = side_from(document, {})
    assert again is not None and again.relation.rows == side.relation.rows
    assert not diff_plans(side, again).differences
    assert side_from({**document, "version": 0}, {}) is None


def test_differences_name_what_changed() -> None:
    was, now = queries(
        COUNT, "SELECT k, g, count(*) AS n FROM STREAM events WHERE v > 2 GROUP BY k, g"
    )
    found = diff_plans(side_of(was.execution, {}), side_of(now.execution, {}))
    assert found.verdict == "refused"
    assert [(d.kind, d.what) for d in found.differences] == [
        ("changed", "state key of operator 0"),
        ("changed", "keys of operator 0"),
        ("changed", "input of operator 0"),
        ("changed", "Exchange"),
        ("added", "Filter"),
        ("changed", "output columns"),
    ]


def test_operators_that_changed_places_moved() -> None:
    was, now = queries(
        "events.dropDuplicates(['k']).limit(9)",
        "events.limit(9).dropDuplicates(['k'])",
        mode="append",
    )
    found = diff_plans(side_of(was.execution, {}), side_of(now.execution, {}))
    assert ("moved", "operator ids") in [(d.kind, d.what) for d in found.differences]
