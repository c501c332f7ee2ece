"""Random queries over rows at rest, as scripts and functions of `foreachBatch` have them."""

from __future__ import annotations

import datetime as dt
import json
import random
from pathlib import Path
from typing import Any

SCHEMA = (
    "id LONG, user STRING, v DOUBLE, n INT, d DECIMAL(10,3), f BOOLEAN, at TIMESTAMP, "
    "tags ARRAY<STRING>, o STRUCT<a: INT, b: STRING>"
)
_START = 1_772_366_400

# What the order of rows says (ties of max_by, lists that are not sorted) has no place here.
NUMBERS = (
    "id, v, n, d, v * 2, n + 1, abs(v), coalesce(n, 0), length(user), size(tags), o.a, year(at), "
    "hour(at), round(v, 1), cast(d as double), n % 3, floor(v), ceil(d), greatest(n, 1), "
    "if(f, 1, 0), unix_timestamp(at), datediff(at, date'2026-01-01'), ascii(user), "
    "bit_count(n), pmod(n, 5), "
    "nullif(n, 0), sign(v), try_divide(v, n), d * 2, d + n, -d, month(at), dayofweek(at)"
)
TEXTS = (
    "user, upper(user), concat(user, '-', n), coalesce(user, 'none'), substr(user, 1, 1), o.b, "
    "concat_ws(',', tags), date_format(at, 'yyyy-MM'), cast(n as string), trim(user), "
    "lpad(user, 3, '.'), cast(v as string), cast(d as string), get(tags, 0), reverse(user), "
    "case when n > 1 then 'big' when n is null then '?' else 'small' end, to_json(o), md5(user), "
    "repeat(user, 2), cast(at as string), cast(date(at) as string), array_join(tags, '+'), "
    "replace(user, 'a', 'b'), initcap(user), hex(id), split(concat(user, ' z'), ' ')[0]"
)
CONDITIONS = (
    "n > 0; v < 5; user = 'a'; user is not null; f; not f; n in (1, 2); v between -2 and 3; "
    "user like '%a%'; size(tags) > 1; array_contains(tags, 'x'); o.a is null; d >= 1.1; "
    "id % 3 = 0; "
    "at > timestamp'2026-02-01'; n is null or v > 1; coalesce(f, false); year(at) = 2026; "
    "user rlike '^[a-c]'; exists(tags, x -> x = 'y')"
)
AGGREGATES = (
    "count(*); count(n); sum(n); sum(v); avg(v); avg(n); min(user); max(at); max(v); sum(d); "
    "avg(d); "
    "count(distinct user); count(distinct n, user); stddev(n); variance(n); bool_or(f); bit_or(n); "
    "array_sort(collect_set(n)); approx_count_distinct(user); "
    "sum(n) filter (where f); percentile(n, 0.5); median(id); max(struct(n, id)); sum(distinct n); "
    "count_if(n > 0); sum(n) / count(*); max(n) - min(n); every(f); max(length(user)); "
    "array_sort(collect_list(n)); percentile_approx(v, 0.5)"
)
WINDOWS = (
    "row_number() over (partition by user order by id); "
    "sum(n) over (partition by user order by id); "
    "lag(v) over (order by id); lead(user, 2, 'z') over (order by id); count(*) over (); "
    "max(n) over (order by id rows between 2 preceding and current row); "
    "dense_rank() over (partition by f order by user nulls last); ntile(4) over (order by id); "
    "first_value(n) ignore nulls over (partition by user order by id); "
    "cume_dist() over (order by n); "
    "last(n) over (partition by user order by id); percent_rank() over (partition by f order by id)"
)
STATEMENTS = (
    "select user, {a} x, {b} y from q group by user having count(*) > 1",
    "select {n} x, {s} y from q where {c} and {e}",
    "with w as (select *, {w} r from q) select id, r from w where {c}",
    "select q.id, t.user from q join t on q.id = t.id where q.n is not null",
    "select {s} k, {a} a from q group by 1 order by 1 nulls first limit 4",
    "select * from (select id, n, user from q where {c}) except select id, n, user from t",
    "select id from q where n > (select avg(n) from t)",
    "select id from q where user in (select user from t where n > 1)",
    "select f, {a} a from q group by rollup(f, user)",
    "select distinct {s} x from q",
    "select id, (select max(n) from t where t.user = q.user) m from q",
)


def write_tables(folder: Path) -> None:
    """Three tables as JSON files, the same for every run."""
    chance = random.Random(7)
    for name, count in (("q", 40), ("t", 25), ("u", 12)):
        lines = (json.dumps(_row(number, chance)) for number in range(count))
        (folder / f"{name}.json").write_text("\n".join(lines))


def _row(number: int, chance: random.Random) -> dict[str, Any]:
    at = dt.datetime.fromtimestamp(_START + chance.randint(-8_000_000, 900_000), dt.UTC)
    return {
        "id": number,
        "user": chance.choice(["a", "b", "C", "", None, "dé"]),
        "v": chance.choice([None, 0.0, -1.5, 2.25, 1e10, round(chance.uniform(-5, 20), 3)]),
        "n": chance.choice([None, 0, 1, 2, -7, 100]),
        "d": chance.choice(["1.10", "2.5", None, "-3.333"]),
        "f": chance.choice([True, False, None]),
        "at": at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "tags": chance.choice([None, [], ["x"], ["y", "x", "z"]]),
        "o": chance.choice([None, {"a": 1, "b": "q"}, {"a": None, "b": "r"}]),
    }


class RandomQuery:
    """The query of a number, over the tables of a session.

    Args:
        spark: a session.
        tables: DataFrames by name.
        seed: decides the query.
    """

    def __init__(self, spark: Any, tables: dict[str, Any], seed: int) -> None:
        from pyspark.sql import functions

        self._f = functions
        self._spark = spark
        self._tables = tables
        self._chance = random.Random(seed)

    def frame(self) -> Any:
        """Its DataFrame."""
        shapes = (
            self._selected,
            self._grouped,
            self._aggregated,
            self._windows,
            self._joined,
            self._exploded,
            self._first_rows,
            self._pivoted,
            self._statement,
        )
        return self._chance.choice(shapes)()

    def _some(self, texts: str, count: int) -> list[str]:
        return self._chance.sample(texts.split("; "), count)

    def _filtered(self) -> Any:
        """Rows of which no two have one id: windows ask for their order."""
        return self._tables["q"].where(*self._some(CONDITIONS, 1))

    def _changed(self, table: str = "q") -> Any:
        chance, frame = self._chance, self._tables[table]
        for _ in range(chance.randint(0, 2)):
            match chance.randrange(6):
                case 0:
                    frame = frame.where(*self._some(CONDITIONS, 1))
                case 1:
                    made = chance.choice(["n + 1", "coalesce(n, 3)", "cast(id % 4 as int)"])
                    frame = frame.withColumn("n", self._f.expr(made))
                case 2:
                    frame = frame.dropna(subset=["n"])
                case 3:
                    frame = frame.fillna({"user": "zz", "n": 5})
                case 4:
                    other = self._tables[chance.choice(["q", "t", "u"])]
                    frame = frame.union(other.where(*self._some(CONDITIONS, 1)))
                case _:
                    made = chance.choice(["lower(user)", "coalesce(user, 'k')", "concat(user, '')"])
                    frame = frame.withColumn("user", self._f.expr(made))
        return frame

    def _selected(self) -> Any:
        values = self._chance.sample([*_split(NUMBERS), *_split(TEXTS)], 4)
        return self._changed().select("id", *self._named(values, "c"))

    def _named(self, texts: list[str], letter: str) -> list[Any]:
        return [self._f.expr(text).alias(f"{letter}{i}") for i, text in enumerate(texts)]

    def _grouped(self) -> Any:
        keys = [*_split(TEXTS), "n", "f", "id % 3", "date(at)", "month(at)"]
        chosen = self._chance.sample(keys, self._chance.randint(1, 2))
        values = self._named(self._some(AGGREGATES, 3), "a")
        return self._changed().groupBy(*self._named(chosen, "k")).agg(*values)

    def _aggregated(self) -> Any:
        return self._changed().agg(*self._named(self._some(AGGREGATES, 4), "a"))

    def _windows(self) -> Any:
        return self._filtered().select("id", *self._named(self._some(WINDOWS, 2), "w"))

    def _joined(self) -> Any:
        chance, f = self._chance, self._f
        other = self._changed("t").select(
            f.col("id").alias("i2"), f.col("user").alias("u2"), f.col("n").alias("n2"), "v"
        )
        how = chance.choice(["inner", "left", "right", "full", "semi", "anti"])
        on = chance.choice(["id = i2", "user = u2", "id = i2 and n < 50", "id < i2 and n = n2"])
        return self._changed().select("id", "user", "n").join(other, f.expr(on), how)

    def _exploded(self) -> Any:
        f = self._f
        tags = self._changed().select(f.explode_outer("tags").alias("t"), "n")
        return tags.groupBy("t").agg(f.sum("n").alias("s"), f.count("*").alias("c"))

    def _first_rows(self) -> Any:
        order = self._chance.choice(["c desc", "c", "c nulls last"])
        rows = self._changed().selectExpr("id", f"{self._chance.choice(_split(NUMBERS))} AS c")
        return rows.distinct().orderBy(self._f.expr(order), "id").limit(self._chance.randint(1, 9))

    def _pivoted(self) -> Any:
        value = self._f.expr(self._chance.choice(["sum(n)", "count(id)", "max(v)"]))
        return self._changed().groupBy("user").pivot("f", [True, False]).agg(value)

    def _statement(self) -> Any:
        self._filtered().createOrReplaceTempView("q")
        self._tables["t"].createOrReplaceTempView("t")
        (a, b), (c, e) = self._some(AGGREGATES, 2), self._some(CONDITIONS, 2)
        words = {
            "a": a,
            "b": b,
            "c": c,
            "e": e,
            "n": self._chance.choice(_split(NUMBERS)),
            "s": self._chance.choice(_split(TEXTS)),
            "w": self._some(WINDOWS, 1)[0],
        }
        return self._spark.sql(self._chance.choice(STATEMENTS).format(**words))


def _split(texts: str) -> list[str]:
    """The expressions of a list: commas within brackets and quotes are theirs."""
    found, depth, start = [], 0, 0
    for place, sign in enumerate(texts):
        depth += (sign in "([") - (sign in ")]")
        if sign == "," and depth == 0:
            found.append(texts[start:place].strip())
            start = place + 1
    return [*found, texts[start:].strip()]
