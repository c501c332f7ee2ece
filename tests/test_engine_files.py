"""Files and what is observed of their rows, on either engine from start to end."""

from __future__ import annotations

import functools
import gzip
import itertools
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import orc, parquet

from stateplan.planner.description import parse_description
from stateplan.planner.model.errors import StateplanError
from stateplan.planner.query import Query
from stateplan.runtime.kernels.scans.parquet_files import ParquetReader, ScanFile
from stateplan.runtime.sources.parquet import ENABLED

ZONE = "spark.sql.session.timeZone"
SCHEMA = "k STRING, a BIGINT, d DOUBLE, m DECIMAL(10,2), t TIMESTAMP"


def _in_order(row: Any) -> list[tuple[bool, Any]]:
    return [(value is None, value) for value in row]


class Run:
    """A query over a directory of files, to its end.

    Attributes:
        batches: the rows of each batch, sorted.
        metrics: what each batch observed.
        input_rows: how many rows each batch read.
    """

    def __init__(self, session: Any, path: Path, content: Mapping[str, Any]) -> None:
        source = {"schema": SCHEMA, "format": "json", "path": str(path), **content}
        own = ("sql", "python", "conf", "output_mode")
        rest = {key: source.pop(key) for key in own if key in source}
        options = {"maxFilesPerTrigger": "1", **source.pop("options", {})}
        description = {"sources": {"events": {**source, "options": options}}, **rest}
        self.batches: list[list[Any]] = []
        self.metrics: list[Any] = []
        self.input_rows: list[int] = []
        query = Query.of(parse_description({"output_mode": "append", **description}))
        handle = query.run(
            session,
            foreach_batch=lambda frame, _: self.batches.append(
                sorted(map(tuple, frame.collect()), key=_in_order)
            ),
            listeners=[self._hear],
            trigger="available_now",
            background=False,
        )
        handle.await_termination()

    def _hear(self, progress: Mapping[str, Any]) -> None:
        self.metrics.append(progress["observedMetrics"])
        self.input_rows.append(progress["numInputRows"])


def write(folder: Path, *files: str) -> None:
    for number, lines in enumerate(files):
        (folder / f"{number}.json").write_text(lines)


def test_only_the_columns_of_the_query_are_read(session: Any, tmp_path: Path) -> None:
    write(tmp_path, '{"k":"x","a":1,"d":"bad"}\n{"k":"y","a":2}\n')
    (tmp_path / "9.json.gz").write_bytes(gzip.compress(b'{"k":"z","a":3}\n{"a":"bad","k":"w"}\n'))
    options = {"mode": "FAILFAST"}
    one = Run(session, tmp_path, {"sql": "SELECT k FROM STREAM events", "options": options})
    assert one.batches == [[("x",), ("y",)], [("w",), ("z",)]]
    sql = "SELECT 1 AS one FROM STREAM events"
    assert Run(session, tmp_path, {"sql": sql, "options": options}).batches == [[(1,), (1,)]] * 2
    union = "SELECT a FROM STREAM events WHERE k = 'z' UNION ALL SELECT 7L FROM STREAM events"
    both = Run(session, tmp_path, {"sql": union})
    assert both.batches == [[(7,), (7,)], [(3,), (7,), (7,)]]


def test_a_table_of_which_no_column_is_used(session: Any, tmp_path: Path) -> None:
    write(tmp_path, '{"a":1}\n{"a":2}\n')
    sql = "SELECT a FROM STREAM events CROSS JOIN (SELECT * FROM VALUES ('x'), (NULL) AS t(k))"
    assert Run(session, tmp_path, {"sql": sql}).batches == [[(1,), (1,), (2,), (2,)]]


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT a + 1 AS a FROM STREAM events UNION ALL SELECT a FROM STREAM events", 4),
        (
            "SELECT x.a FROM STREAM events WATERMARK t DELAY OF INTERVAL 1 SECOND AS x JOIN "
            "STREAM events WATERMARK t DELAY OF INTERVAL 1 SECOND AS y ON x.a = y.a AND x.t = y.t",
            4,
        ),
        (
            "SELECT a, count(*) AS n FROM (SELECT a FROM STREAM events UNION ALL "
            "SELECT a FROM STREAM events) GROUP BY a",
            4,
        ),
    ],
)
def test_a_source_that_is_read_twice_is_counted_twice(
    session: Any, tmp_path: Path, sql: str, rows: int
) -> None:
    time = "2026-01-01T00:00:00Z"
    write(tmp_path, f'{{"a":1,"t":"{time}"}}\n{{"a":2,"t":"{time}"}}\n')
    mode = "update" if "GROUP" in sql else "append"
    found = Run(session, tmp_path, {"sql": sql, "output_mode": mode})
    assert found.input_rows[0] == rows


def test_conditions_on_malformed_lines_keep_no_row_from_being_counted(
    session: Any, tmp_path: Path
) -> None:
    (tmp_path / "0.csv").write_text("x,1\ny,bad\nz,3\n")
    content = {
        "format": "csv",
        "schema": "k STRING, a BIGINT, bad STRING",
        "sql": "SELECT k, a FROM STREAM events WHERE bad IS NULL",
        "options": {"columnNameOfCorruptRecord": "bad"},
    }
    found = Run(session, tmp_path, content)
    assert found.batches == [[("x", 1), ("z", 3)]]
    assert found.input_rows == [3]


@pytest.mark.parametrize("named", [{}, {"columnNameOfCorruptRecord": "bad"}])
def test_json_lines_that_are_malformed(session: Any, tmp_path: Path, named: dict[str, str]) -> None:
    """Which lines are malformed, their texts, and how many there are."""
    name = named.get("columnNameOfCorruptRecord", "_corrupt_record")
    write(tmp_path, '{"k":"x","a":1}\n{"k":"y","a":"2"}\nhello\n{"k":"z", "a":3,}\n')
    content = {"format": "json", "schema": f"k STRING, a BIGINT, {name} STRING", "options": named}
    every = {"sql": f"SELECT coalesce(k, '') AS k, a, {name} FROM STREAM events", **content}
    assert Run(session, tmp_path, every).batches == [
        [
            ("", None, "hello"),
            ("", None, '{"k":"z", "a":3,}'),
            ("x", 1, None),
            ("y", None, '{"k":"y","a":"2"}'),
        ]
    ]
    sql = (
        f"SELECT coalesce(k, '') AS k, count({name}) AS malformed FROM STREAM events "
        f"WHERE {name} IS NOT NULL OR a > 0 GROUP BY 1"
    )
    counted = {"sql": sql, "output_mode": "update", **content}
    assert Run(session, tmp_path, counted).batches == [[("", 2), ("x", 0), ("y", 1)]]
    unread = {"sql": "SELECT coalesce(k, '') AS k FROM STREAM events", **content}
    assert Run(session, tmp_path, unread).batches == [[("",), ("",), ("x",), ("y",)]]
    alone = {"sql": f"SELECT {name} FROM STREAM events", **content}
    with pytest.raises(StateplanError, match="QUERY_ONLY_CORRUPT_RECORD_COLUMN"):
        Run(session, tmp_path, alone)


def test_csv_files(session: Any, tmp_path: Path) -> None:
    """Quotes, a header in each file, values that are malformed, and times in a time zone."""
    options = {"header": "true", "sep": ";", "escape": '"', "comment": "#"}
    content = {"format": "csv", "options": options, "conf": {ZONE: "America/New_York"}}
    head = "k;a;d;m;t\n"
    (tmp_path / "0.csv").write_text(f'{head}"x ""1""; y";1;1.5;2.345;2026-03-08T02:30:00\n\n#\n')
    (tmp_path / "1.csv.gz").write_bytes(gzip.compress(f"#\n{head};2;bad;-1;\nz;3\n".encode()))
    sql = "SELECT coalesce(k, '') AS k, a, d, m, unix_micros(t) AS t FROM STREAM events WHERE a > 0"
    found = Run(session, tmp_path, {"sql": sql, **content}).batches
    first = ('x "1"; y', 1, 1.5, Decimal("2.35"), 1_772_955_000_000_000)
    assert found[0] == [first]
    assert found[1] == [("", 2, None, Decimal("-1.00"), None), ("z", 3, None, None, None)]
    counted = {"sql": "SELECT count(*) AS n FROM STREAM events", "output_mode": "update"}
    assert Run(session, tmp_path, {**content, **counted}).batches == [[(1,)], [(3,)]]


def test_orc_files(session: Any, tmp_path: Path) -> None:
    times = pa.array([0, None], pa.timestamp("us"))
    table = pa.table({"A": [1, 2], "t": times, "k": ["😀", None], "more": [1, 1]})
    orc.write_table(table, tmp_path / "0.orc")
    sql = "SELECT k, a, d, unix_micros(t) AS t FROM STREAM events WHERE a < 2"
    assert Run(session, tmp_path, {"sql": sql, "format": "orc"}).batches == [[("😀", 1, None, 0)]]


@pytest.mark.embedded
@pytest.mark.parametrize(
    ("format", "option", "value"), [("csv", "encoding", "UTF-16"), ("orc", "other", "1")]
)
def test_options_of_readers_are_refused_by_name(
    tmp_path: Path, format: str, option: str, value: str
) -> None:
    from stateplan.runtime.engines.embedded_session import session

    content = {"sql": "SELECT k FROM STREAM events", "format": format, "options": {option: value}}
    with pytest.raises(StateplanError, match=rf"reading 'events'.*'{option}' is '{value}'"):
        Run(session(), tmp_path, content)


def test_a_malformed_record_ends_the_query(session: Any, tmp_path: Path) -> None:
    write(tmp_path, '{"k":"x","a":1}\n{"k":"y","a":\n')
    sql = "SELECT k, a FROM STREAM events"
    with pytest.raises(StateplanError) as caught:
        Run(session, tmp_path, {"sql": sql, "options": {"mode": "FAILFAST"}})
    assert caught.value.condition == "FAILED_READ_FILE.NO_HINT"
    assert f"error while reading file file://{tmp_path}/0.json" in caught.value.message
    assert "record parsing: [null,null]." in caught.value.message


_AS_DECLARED = [("SELECT a, s FROM STREAM events", "append")]
_AS_DECLARED += [("SELECT a, s, count(*) AS n FROM STREAM events GROUP BY a, s", "update")]


@pytest.mark.embedded
@pytest.mark.parametrize(("sql", "mode"), _AS_DECLARED)
@pytest.mark.parametrize(
    ("column", "what"),
    [
        ({"a": pa.array([1, 2], pa.int16())}, "Parquet column `a`"),
        ({"s": pa.array([{"z": 1}, None])}, "Cannot cast struct with 1 fields to 2 fields"),
    ],
)
def test_a_column_that_only_spark_reads_as_declared_is_refused(
    tmp_path: Path, sql: str, mode: str, column: dict[str, Any], what: str
) -> None:
    from stateplan.runtime.engines.embedded_session import session

    parquet.write_table(pa.table(column), tmp_path / "0.parquet")
    declared = "a BIGINT, s STRUCT<x: INT, y: STRING>"
    content = {"schema": declared, "sql": sql, "format": "parquet", "output_mode": mode}
    with pytest.raises(StateplanError, match=what) as caught:
        Run(session(), tmp_path, content)
    assert caught.value.condition == "STATEPLAN_NOT_EXACT"


@pytest.mark.embedded
def test_folders_whose_names_may_be_other_values_are_refused(tmp_path: Path) -> None:
    from stateplan.runtime.engines.embedded_session import session

    (tmp_path / "a=1e3").mkdir()
    parquet.write_table(pa.table({"k": ["x"]}), tmp_path / "a=1e3" / "0.parquet")
    content = {"sql": "SELECT k, a FROM STREAM events", "format": "parquet"}
    with pytest.raises(StateplanError, match="names of folders") as caught:
        Run(session(), tmp_path, content)
    assert caught.value.condition == "STATEPLAN_NOT_EXACT"


@pytest.mark.embedded
@pytest.mark.parametrize(
    ("kind", "zone", "refused"),
    [
        (pa.timestamp("us"), "America/New_York", True),
        (pa.timestamp("us"), "UTC", False),
        (pa.timestamp("us", "UTC"), "America/New_York", False),
        (pa.timestamp("ns", "UTC"), "UTC", True),
    ],
)
def test_times_that_spark_reads_otherwise_are_refused(
    tmp_path: Path, kind: Any, zone: str, refused: bool
) -> None:
    from stateplan.runtime.engines.embedded_session import session

    parquet.write_table(pa.table({"t": pa.array([1], kind)}), tmp_path / "0.parquet")
    sql = "SELECT unix_micros(t) AS m FROM STREAM events"
    content = {"sql": sql, "format": "parquet", "conf": {ZONE: zone}}
    if not refused:
        assert Run(session(), tmp_path, content).batches == [[(1,)]]
        return
    with pytest.raises(StateplanError, match="the times of the column 't'") as caught:
        Run(session(), tmp_path, content)
    assert caught.value.condition == "STATEPLAN_NOT_EXACT"


@pytest.mark.embedded
@pytest.mark.parametrize(
    ("sql", "here"),
    [
        ("SELECT k, initcap(k) AS p, k || lower(k) AS l FROM STREAM events WHERE a > 2", True),
        ("SELECT k, t, a FROM STREAM events WATERMARK t DELAY OF INTERVAL 5 SECONDS", True),
        ("SELECT initcap(k) AS p FROM STREAM events UNION ALL SELECT k FROM STREAM events", True),
        ("SELECT t.n, initcap(k) AS p FROM STREAM events JOIN VALUES ('x', 1), ('z', 2) AS t(w, n) "
         "ON k = w", False),
        ("SELECT k, a, d FROM STREAM events WHERE a > 2", False),
        ("SELECT 1 AS one FROM STREAM events", False),
    ],
)  # fmt: skip
def test_our_own_code_reads_parquet_files_of_which_it_is_the_first_to_take_rows(
    tmp_path: Path, sql: str, here: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    from stateplan.runtime.engines.embedded_session import session

    count = 6000
    columns = {
        "k": pa.array([("x", "Y", None, "ß")[i % 4] for i in range(count)]),
        "a": pa.array([None if i % 7 == 0 else i % 11 for i in range(count)]),
        "d": pa.array([i / 3 for i in range(count)]),
        "m": pa.array([Decimal(i).scaleb(-2) for i in range(count)], pa.decimal128(10, 2)),
        "t": pa.array([i * 1000 for i in range(count)], pa.timestamp("us", "UTC")),
    }
    for number in range(2):
        parquet.write_table(
            pa.table(columns).slice(number * 50),
            tmp_path / f"{number}.parquet",
            row_group_size=2500,
        )
    read: list[str] = []
    batches = ParquetReader.batches

    def noted(self: ParquetReader, file: ScanFile, part: int | None = None) -> Any:
        read.append(file.path)
        return batches(self, file, part)

    monkeypatch.setattr(ParquetReader, "batches", noted)
    content = {"sql": sql, "format": "parquet"}
    found = Run(session(), tmp_path, content)
    assert bool(read) == here
    read.clear()
    by_engine = Run(session(), tmp_path, {**content, "conf": {ENABLED: "false"}})
    assert not read
    assert found.batches == by_engine.batches and len(found.batches) == 2
    assert found.input_rows == by_engine.input_rows


def test_rows_without_columns_are_counted(session: Any, tmp_path: Path) -> None:
    write(tmp_path, '{"a":1}\n{"a":2}\nhello\n', '{"a":1}\n')
    content = {"sql": "SELECT count(*) AS n FROM STREAM events", "output_mode": "update"}
    assert Run(session, tmp_path, content).batches == [[(3,)], [(4,)]]


METRICS = """events.observe('all',
    F.count(F.lit(1)).alias('rows'), F.count('a').alias('known'), F.sum('a').alias('total'),
    F.avg('d').alias('mean'), F.max('d').alias('most'), F.min('k').alias('first'),
    F.stddev('d').alias('spread'), F.sum('m').alias('money'), F.avg('m').alias('share'),
    (F.max('a') + F.min('a')).alias('both'),
    F.max('t').alias('last'), F.sum(F.col('a') * 2).alias('twice'),
    F.expr('bool_and(a > 0)').alias('all'),
    F.max(F.struct('k', 'a')).alias('row')
).where('a > 1').observe('some', F.max('k').alias('k')).select('k')"""
OBSERVED: list[dict[str, Any]] = [
    {
        "all": {
            "rows": 4,
            "known": 3,
            "total": 6,
            "mean": 2.25,
            "most": 3.0,
            "first": "x",
            "spread": 1.0606601717798212,
            "money": 3.75,
            "share": 1.875,
            "both": 4,
            "last": "2026-01-02 03:04:05.500000",
            "twice": 12,
            "all": True,
            "row": {"k": "z", "a": 3},
        },
        "some": {"k": "z"},
    },
]
OBSERVED += [
    {
        "all": {name: 0 if name in ("rows", "known") else None for name in OBSERVED[0]["all"]},
        "some": {"k": None},
    }
]


def test_observed_metrics(session: Any, tmp_path: Path) -> None:
    write(
        tmp_path,
        '{"k":"x","a":1,"d":1.5,"m":1.25,"t":"2026-01-02T03:04:05.5Z"}\n'
        '{"k":"y","a":2,"d":3.0,"m":2.5}\n{"k":"z","a":3}\n{"k":"z"}\n',
        "\n",
    )
    run = Run(session, tmp_path, {"python": METRICS})
    print(run.metrics)
    assert run.batches == [[("y",), ("z",)], []]
    assert run.metrics == OBSERVED


def test_a_metric_that_fails_ends_the_batch(session: Any, tmp_path: Path) -> None:
    write(tmp_path, '{"a":9223372036854775807}\n{"a":1}\n')
    with pytest.raises(StateplanError) as caught:
        Run(session, tmp_path, {"python": "events.observe('o', F.sum('a').alias('s'))"})
    assert caught.value.condition == "ARITHMETIC_OVERFLOW"


def nested(depth: int) -> str:
    """Arithmetic of a depth, of which each step may fail."""
    steps = itertools.cycle(("+ a", "- 3", "* 2"))
    return functools.reduce(
        lambda inner, step: f"({inner} {step})", itertools.islice(steps, depth), "a"
    )


@pytest.mark.parametrize(
    ("select", "values"),
    [
        (f"{nested(12)} AS v FROM STREAM events WHERE a < 100", [-44, 2]),
        (f"a AS v FROM STREAM events WHERE a < 100 AND {nested(12)} > 0", [2]),
        (f"CASE WHEN a < 100 THEN {nested(12)} END AS v FROM STREAM events", [-44, 2, None]),
        (
            f"if(a > 99 OR {nested(12)} < 0, {nested(4)} < 0, a < {nested(3)}) AS v "
            "FROM STREAM events WHERE a < 100 OR k IS NULL",
            [False, True],
        ),
    ],
)
def test_deeply_nested_arithmetic(
    session: Any, tmp_path: Path, select: str, values: list[Any]
) -> None:
    """What Spark computes for some rows only fails for no others."""
    write(tmp_path, "".join(f'{{"k":"{n}","a":{n}}}\n' for n in (1, 2, 1 << 62)))
    # Our own Arrow code does not compute md5: the engine has to do it all.
    (found,) = Run(session, tmp_path, {"sql": f"SELECT md5(k) AS h, {select}"}).batches
    assert sorted((row[1] for row in found), key=str) == values


@pytest.mark.embedded
@pytest.mark.parametrize(
    ("format", "setting", "value"),
    [
        ("parquet", "spark.sql.caseSensitive", "true"),
        ("parquet", "spark.sql.parquet.fieldId.read.enabled", "true"),
        ("parquet", "spark.sql.files.ignoreCorruptFiles", "TRUE"),
        ("json", "spark.sql.json.enablePartialResults", "false"),
        ("json", "spark.sql.legacy.timeParserPolicy", "LEGACY"),
        ("csv", "spark.sql.csv.parser.columnPruning.enabled", "false"),
        ("orc", "spark.sql.caseSensitive", "true"),
    ],
)
def test_settings_of_readers_are_refused_by_name(
    tmp_path: Path, format: str, setting: str, value: str
) -> None:
    from stateplan.runtime.engines.embedded_session import session

    content = {"sql": "SELECT k FROM STREAM events", "format": format}
    with pytest.raises(StateplanError, match=rf"reading 'events'.*'{setting}'.*'{value}'"):
        Run(session(), tmp_path, {**content, "conf": {setting: value}})
    assert Run(session(), tmp_path, content).batches == []
