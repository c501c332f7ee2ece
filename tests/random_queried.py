"""Random streams of the queries whose plans compare_random_queries.py compares, over random rows.

The grammar of random_queries writes them: any operator, expressions of every kind, settings, and
what Spark refuses. Rows hold values of each column's type, at the edges among them.
"""

from __future__ import annotations

import random
import re
from typing import Any

from random_queries.cases import random_case
from random_queries.catalog import STREAMS, TABLES
from random_streams import Case, moment, number, sometimes

from stateplan.planner.model.schemas import types
from stateplan.planner.model.schemas.ddl import parse_schema

SHAPES = ("any",)
TEXTS = ["ann", "bob", "Bob", "é", "", " a b ", "error: 12", "2026-01-02", "7", "a,b;c", "x=1&y=2"]
INTEGERS = {types.ByteType: 7, types.ShortType: 15, types.IntegerType: 31, types.LongType: 63}


def value(rng: random.Random, kind: types.DataType, step: int) -> Any:
    """A value of a type, as a row of JSON holds it; null at times."""
    return sometimes(rng, lambda: _value(rng, kind, step), 0.1)


def _value(rng: random.Random, kind: types.DataType, step: int) -> Any:
    match kind:
        case types.StringType():
            return rng.choice(TEXTS)
        case types.IntegralType():
            most = 2 ** INTEGERS[type(kind)] - 1
            return rng.choice([0, 1, 1, 2, 2, 3, 5, -2, 12, most if rng.random() < 0.2 else 4])
        case types.DecimalType(precision=precision, scale=scale):
            digits = rng.choice([min(scale + 2, precision)] * 5 + [precision])
            whole = rng.randrange(-(10**digits) // 3, 10**digits)
            sign, text = "-" * (whole < 0), str(abs(whole)).rjust(scale + 1, "0")
            return f"{sign}{text[: len(text) - scale]}.{text[len(text) - scale :]}".rstrip(".")
        case types.FloatType():
            return rng.choice([0.5, -0.0, 0.0, "NaN", 2.75])
        case types.DoubleType():
            return number(rng)
        case types.BooleanType():
            return rng.random() < 0.5
        case types.DateType():
            return f"2026-{rng.choice(['01-01', '01-31', '02-28', '12-31'])}"
        case types.TimestampType():
            return moment(rng, step).isoformat(timespec="microseconds").replace("+00:00", "Z")
        case types.TimestampNTZType():
            return moment(rng, step).replace(tzinfo=None).isoformat(timespec="microseconds")
        case types.DayTimeIntervalType():
            return f"INTERVAL '{rng.randrange(3)} 0{rng.randrange(9)}:10:00.5' DAY TO SECOND"
        case types.BinaryType():
            return rng.choice(["AQI=", "", "/w=="])
        case types.ArrayType(element_type=element):
            return [value(rng, element, step) for _ in range(rng.randrange(4))]
        case types.MapType(value_type=of):
            return {
                key: value(rng, of, step) for key in rng.sample(["a", "b", "c"], rng.randrange(3))
            }
        case types.StructType(fields=fields):
            return {field.name: value(rng, field.data_type, step) for field in fields}
    raise AssertionError(kind)


def _can_be_compared(description: Case) -> bool:
    """Whether it is a query of a stream, and no result goes by the order of Spark's hash tables."""
    text = description.get("sql") or description["python"]
    return not re.search(r"collect_set|\bmode\(|^INSERT ", text) and any(
        name in STREAMS for name in description["sources"]
    )


def case(shape: str, seed: int, batches: int) -> Case:
    """A scenario without expectation."""
    rng = random.Random(f"{shape}-{seed}")
    made = random_case(seed).description
    while not _can_be_compared(made):
        seed += 1_000_000
        made = random_case(seed).description
    schemas = {n: parse_schema({**STREAMS, **TABLES}[n]).fields for n in made["sources"]}

    def rows(name: str, step: int, count: int) -> list[Case]:
        return [
            {f.name: value(rng, f.data_type, step) for f in schemas[name]} for _ in range(count)
        ]

    for name, source in made["sources"].items():
        if name in TABLES:
            source["rows"] = rows(name, 0, rng.choice([0, 1, 4, 7]))
    steps: list[Case] = []
    for step in range(batches):
        at = step if rng.random() > 0.1 else max(step - 2, 0)
        batch = {n: rows(n, at, rng.choice([0, 1, 6, 12])) for n in schemas if n in STREAMS}
        for some in batch.values():
            some += [rng.choice(some) for _ in range(len(some) // 6)]
        steps.append({"batch": batch, "crash": rng.random() < 0.1})
        if rng.random() < 0.15:
            steps.append({"restart": True})
    made["conf"] |= {"spark.sql.shuffle.partitions": rng.choice(["1", "2", "3"])}
    return {**made, "steps": steps}
