"""Random queries that compute much: trees of functions over aggregates, and over columns."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence

from random_streams import WINDOWS, Case, aggregates, watermarked
from random_variety import MODES

Leaves = Mapping[str, Sequence[str]]

OF_AGGREGATES: Leaves = {
    "number": [
        *("sum(qty)", "count(*)", "sum(price)", "avg(price)", "max(amount)", "avg(qty)"),
        "sum(big)",
        *("min(price)", "sum(price * qty)", "count(user)", "sum(small)", "max(length(user))", "7"),
    ],
    "text": ["max(user)", "min(user)", "first(user, true)", "max(place.y)", "'a b'"],
    "flag": ["bool_or(ok)", "every(ok)", "count(*) > 3"],
    "day": ["max(day)", "min(day)", "DATE '2026-02-03'"],
    "time": ["max(ts)", "min(ts)", "timestamp_seconds(CAST(count(*) AS INT))"],
    "list": ["sort_array(collect_list(qty))", "sort_array(collect_set(qty))", "array(count(*), 2)"],
    "words": ["sort_array(collect_set(user))", "array('b', max(user))"],
    "map": ["map('a', count(*), 'b', sum(qty))", "map_from_arrays(array('a'), array(max(big)))"],
}
OF_COLUMNS: Leaves = {
    "number": ["qty", "price", "amount", "big", "small", "place.x", "7", "0.25", "-3", "1e3"],
    "text": ["user", "place.y", "'a b'", "''", "CAST(ts AS STRING)"],
    "flag": ["ok", "true", "qty IS NULL"],
    "day": ["day", "CAST(ts AS DATE)", "DATE '2024-02-29'"],
    "time": ["ts", "TIMESTAMP '2026-03-29 01:30:00'"],
    "list": ["tags", "array(qty, 2)", "sequence(1, 3)"],
    "words": ["array('b', user)", "split(user, '')"],
    "map": ["map('a', qty, 'b', 5)", "map_from_arrays(array('a', 'c'), array(qty, 7))"],
}
FORMS: Leaves = {
    "number": [
        *("{number} + {number}", "{number} - {number}", "{number} * {number}", "-{number}"),
        *("try_divide({number}, {number})", "{number} / nullif({number}, 0)", "abs({number})"),
        *("{number} % 7", "pmod({number}, 5)", "try_cast({number} AS INT) div 3"),
        "round({number}, 2)",
        *("floor({number})", "ceil({number})", "CAST({number} AS DOUBLE)", "length({text})"),
        *("greatest({number}, {number})", "coalesce({number}, 0)", "if({flag}, {number}, 0)"),
        *("try_cast({number} AS INT)", "CAST({number} AS DECIMAL(30,4))", "size({list})"),
        *("datediff({day}, DATE '2026-01-03')", "unix_seconds({time})", "year({day})"),
        *("CASE WHEN {flag} THEN {number} WHEN {flag} THEN {number} END", "hash({text})"),
        *("bround({number}, 1)", "sign({number})", "sqrt(abs({number}))", "least({number}, 12.5)"),
        *("try_element_at({list}, 1)", "extract(SECOND FROM {time})", "try_cast({text} AS INT)"),
        *("{list}[0]", "get({list}, 1)", "array_max({list})", "{map}['a']", "cardinality({words})"),
        *("try_element_at({map}, 'b')", "instr({text}, 'b')", "locate('n', {text})"),
        "hour({time})",
        *("months_between({time}, {day})", "dayofweek({day})", "weekofyear({day})"),
        "ascii({text})",
        *("aggregate({list}, 0L, (a, x) -> a + coalesce(x, 1))", "levenshtein({text}, {text})"),
        *("array_position({words}, 'b')", "bit_length({text})", "xxhash64({number}, {text})"),
        *("named_struct('x', {number}, 'y', {text}).x", "crc32({text})", "ln(abs({number}) + 1)"),
        *("timestampdiff(MINUTE, {time}, {time})", "nvl2({text}, {number}, 1)"),
        "exp({number} % 3)",
        "from_json(concat('{\"a\":', {number}, '}'), 'a DOUBLE').a",
        "regexp_count({text}, '[a-n]')",
        *("width_bucket({number}, 0, 100, 5)", "power(CAST({number} % 4 AS DOUBLE), 2)"),
        *("nullif({number}, 7)", "decode({number} % 3, 0, 10, 1, 20, 30)"),
        "date_diff({day}, {day})",
    ],
    "text": [
        *("upper({text})", "CAST({number} AS STRING)", "concat({text}, '-', {text})"),
        *("lpad({text}, 5, '*')", "coalesce({text}, 'none')", "date_format({time}, 'yyyy-MM-dd')"),
        *("array_join({words}, ',')", "replace({text}, 'b', 'xy')", "substr({text}, 2, 3)"),
        *("format_string('%s/%d', {text}, length({text}))", "split_part({text}, 'n', 1)"),
        *("CAST({day} AS STRING)", "to_json(struct({number} AS a, {text} AS b))", "trim({text})"),
        *("concat_ws('|', {text}, {text})", "regexp_replace({text}, '[aeiou]+', '_')"),
        *("md5({text})", "initcap({text})", "translate({text}, 'ab', 'x')", "reverse({text})"),
        *("CAST({time} AS STRING)", "substring_index({text}, 'b', 1)", "if({flag}, {text}, 'x')"),
        *("{words}[0]", "try_element_at({words}, -1)", "regexp_extract({text}, '([a-n]+)', 1)"),
        *("left({text}, 2)", "right({text}, 2)", "rpad({text}, 4, 'é')", "hex({text})"),
        *("sha2({text}, 256)", "base64(CAST({text} AS BINARY))", "typeof({number})"),
        "lower({text})",
        *("to_json({map})", "get_json_object(to_json(struct({text} AS t)), '$.t')"),
        "bin({number} % 9)",
        *("CASE {text} WHEN 'ann' THEN 'A' WHEN 'bob' THEN {text} ELSE 'z' END", "soundex({text})"),
        *("element_at(split(concat({text}, ',x'), ','), 2)", "overlay({text}, 'ZZ', 2)"),
        *("named_struct('x', {number}, 'y', {text}).y", "CAST({list} AS STRING)"),
        "repeat({text}, 2)",
        *("format_number({number}, 2)", "url_encode({text})", "CAST({flag} AS STRING)"),
        *("date_format({day}, 'EEE d MMM')", "ltrim('a', {text})", "array_max({words})"),
    ],
    "flag": [
        *("{number} > {number}", "{number} BETWEEN 0 AND 10", "NOT {flag}", "{text} LIKE 'a%'"),
        *("{text} IS NULL", "{number} <=> {number}", "{text} IN ('ann', 'bob')", "{text} < {text}"),
        *("{flag} AND {flag}", "{flag} OR {flag}", "{day} > DATE '2026-01-02'"),
        "contains({text}, 'b')",
        *("array_contains({list}, 1)", "{text} RLIKE '^[a-c]'", "isnan(CAST({number} AS DOUBLE))"),
        *("exists({list}, x -> x > 2)", "forall({words}, w -> w <> '')"),
        "arrays_overlap({list}, {list})",
        *("map_contains_key({map}, 'a')", "{words} = {words}", "{time} >= {time}"),
        "startswith({text}, 'b')",
        *("{text} ILIKE '%B%'", "{number} IN (1, 2, 3)", "coalesce({flag}, false)"),
        "{day} <=> {day}",
    ],
    "day": [
        *("CAST({time} AS DATE)", "date_add({day}, 3)", "last_day({day})", "to_date('2026-02-03')"),
        *("add_months({day}, 2)", "trunc({day}, 'MONTH')", "{day} - INTERVAL 1 DAY"),
        *("next_day({day}, 'MON')", "make_date(year({day}), month({day}), 1)"),
        "coalesce({day}, {day})",
        *("try_cast({text} AS DATE)", "date_sub({day}, 40)", "greatest({day}, {day})"),
        *("date_from_unix_date(datediff({day}, DATE '2020-01-01'))", "{day} + INTERVAL 1 MONTH"),
    ],
    "time": [
        *("date_trunc('HOUR', {time})", "{time} + INTERVAL 90 MINUTES", "coalesce({time}, {time})"),
        *("timestampadd(HOUR, 5, {time})", "CAST({day} AS TIMESTAMP)", "greatest({time}, {time})"),
        *("to_timestamp(date_format({time}, 'yyyy-MM-dd HH:mm:ss'))", "if({flag}, {time}, NULL)"),
        *("from_utc_timestamp({time}, 'Europe/Berlin')", "{time} - INTERVAL '1' MONTH"),
        *("date_trunc('WEEK', {day})", "timestamp_millis(unix_millis({time}))"),
        "try_to_timestamp({text})",
        "make_timestamp(2026, month({day}), 1, hour({time}), 5, 6.5)",
    ],
    "list": [
        *("transform({list}, x -> x + 1)", "filter({list}, x -> x > 2)", "slice({list}, 1, 2)"),
        *("array_distinct({list})", "reverse({list})", "sort_array({list}, false)"),
        *("concat({list}, {list})", "array_remove({list}, 2)", "array_union({list}, {list})"),
        "zip_with({list}, {list}, (x, y) -> coalesce(x, 0) + coalesce(y, 0))",
        "map_values({map})",
        *("flatten(array({list}, {list}))", "transform({words}, w -> length(w))"),
        "if({flag}, {list}, {list})",
    ],
    "words": [
        *("split({text}, '[ab]')", "array({text}, {text})", "transform({words}, w -> upper(w))"),
        *("sort_array({words})", "array_distinct({words})", "array_except({words}, array('b'))"),
        *("filter({words}, w -> w <> 'b')", "array_append({words}, {text})", "map_keys({map})"),
        *("transform({list}, x -> CAST(x AS STRING))", "array_compact({words})"),
        "slice({words}, 1, 1)",
    ],
    "map": [
        *("transform_values({map}, (k, v) -> v + 1)", "map_filter({map}, (k, v) -> v > 1)"),
        *("map('a', length({text}))", "if({flag}, {map}, {map})"),
        "from_json(to_json({map}), 'MAP<STRING, INT>')",
    ],
}
"""Expressions by the kind of their result; in braces the kinds of what stands in them."""
_PART = re.compile(f"{{({'|'.join(FORMS)})}}")


def tree(rng: random.Random, leaves: Leaves, kind: str, depth: int) -> str:
    """An expression of a kind with so many levels of functions at most."""
    if depth == 0 or rng.random() < 0.2:
        return rng.choice(leaves[kind])

    def made(part: re.Match[str]) -> str:
        text = tree(rng, leaves, part[1], depth - 1)
        return text if text.isalnum() else f"({text})"

    return _PART.sub(made, rng.choice(FORMS[kind]))


def _values(rng: random.Random, leaves: Leaves, count: int, depth: int) -> str:
    kinds = [rng.choice(list(FORMS)) for _ in range(count)]
    return ", ".join(f"{tree(rng, leaves, kind, depth)} AS f{i}" for i, kind in enumerate(kinds))


def over_aggregates(rng: random.Random) -> Case:
    """No key of whole numbers is null: where Spark sorts these, nulls mix up the rows of others."""
    values = _values(rng, OF_AGGREGATES, 5, 3)
    key, mode = rng.choice(
        [
            ("", rng.choice(["update", "complete"])),
            ("coalesce(qty, 0) % 2 AS k", rng.choice(["update", "complete"])),
            ("upper(user) AS k", "update"),
            (f"{rng.choice(WINDOWS)} AS w", rng.choice(MODES)),
        ]
    )
    having = rng.choice(["", "", f" HAVING {tree(rng, OF_AGGREGATES, 'flag', 2)}"])
    grouped = f" GROUP BY 1{having}" if key else having
    sql = f"SELECT {key + ', ' * bool(key)}{values} FROM {watermarked(rng)}{grouped}"
    return {"sql": sql, "output_mode": mode, "conf": _ansi(rng)}


def over_rows(rng: random.Random) -> Case:
    """Columns, conditions, keys and what is aggregated."""
    where = rng.choice(["", f" WHERE {tree(rng, OF_COLUMNS, 'flag', 2)}"])
    source = watermarked(rng)
    number, text = (tree(rng, OF_COLUMNS, kind, 2) for kind in ("number", "text"))
    key = tree(rng, OF_COLUMNS, rng.choice(["text", "flag", "day", "time", "words"]), 2)
    sums = f"count({text}) AS c, max({text}) AS t, max({number}) AS m"
    sql, mode = rng.choice(
        [
            (f"SELECT {_values(rng, OF_COLUMNS, 6, 3)} FROM {source}{where}", "append"),
            (f"SELECT {_values(rng, OF_COLUMNS, 6, 3)} FROM {source}{where}", "append"),
            (f"SELECT {key} AS k, {sums} FROM {source}{where} GROUP BY 1", "update"),
            (
                f"SELECT {rng.choice(WINDOWS)} AS w, {key} AS k, {aggregates(rng, 1)}, {sums} "
                f"FROM {source}{where} GROUP BY 1, 2",
                rng.choice(MODES),
            ),
        ]
    )
    return {"sql": sql, "output_mode": mode, "conf": _ansi(rng)}


def _ansi(rng: random.Random) -> Case:
    return {"spark.sql.ansi.enabled": rng.choice(["true", "false", "false"])}
