"""`from_csv` of random texts under many options, against a live Spark."""

from __future__ import annotations

import random
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from arrow_comparison import Data, difference
from test_arrow_sql import expression_over

from stateplan.planner.model.expressions.core import AttributeReference
from stateplan.planner.model.schemas.types import StringType
from stateplan.runtime.kernels.expressions.programs.compile import unsupported

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TEXT = AttributeReference(name="line", type_=StringType(), expr_id=6_500)
SEED = 12
ROWS = 400
WORDS = (
    *("1", "-7", "3.5", "1e3", "x", "ä", "NaN", "Inf", "true", "2024-02-29", "1900-01-01 01:02:03"),
    *("2024-02-29T01:02:03.5Z", "99999999999", "12.345", "NULL", '"q"', '"a,b"', '"a""b"'),
    *('"a\\"b"', " ", "  y ", "\n", "\r\n", "\t", "#", "'s'", '"open', 'half"', '""', "", ""),
    *("\\", "/"),
)
SCHEMAS = (
    "a INT, b STRING",
    "a STRING, b STRING, c STRING",
    "a DOUBLE, b BOOLEAN, c DATE",
    "a TIMESTAMP, b TIMESTAMP_NTZ, c BIGINT",
    "a DECIMAL(6,2), b FLOAT, c STRING, d SMALLINT",
)
OPTIONS = (
    {},
    {},
    {"sep": "|"},
    {"delimiter": ";", "quote": "/"},
    {"nullValue": "NULL", "ignoreLeadingWhiteSpace": "true", "ignoreTrailingWhiteSpace": "true"},
    {"emptyValue": "none", "escape": "/"},
    {"comment": "#", "nanValue": "x", "escape": '"'},
    {"dateFormat": "yyyy-MM-dd", "timestampFormat": "yyyy-MM-dd HH:mm:ss", "lineSep": "|"},
)


def texts(chance: random.Random) -> pa.Table:
    """Lines of a few values, some of them of letters that mean something to a reader."""
    lines: list[str | None] = [None, "", " ", "\n", ",", '"', "#,1"]
    while len(lines) < ROWS:
        sep = chance.choice((",", ",", ",", "|", ";"))
        values = [
            "".join(chance.choice(WORDS) for _ in range(1 if chance.random() < 0.85 else 2))
            for _ in range(chance.choice((1, 2, 3, 3, 4, 5)))
        ]
        lines.append(sep.join(values))
    return pa.table({TEXT.name: pa.array(lines, pa.string())})


def test_texts_as_structs_and_as_fields_of_them(spark: SparkSession, tmp_path: Path) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "UTC")
    chance = random.Random(SEED)
    calls = []
    for schema in SCHEMAS:
        for options in chance.sample(OPTIONS, 3):
            entries = ", ".join(f"'{name}', '{value}'" for name, value in options.items())
            given = f", map({entries})" if options else ""
            calls.append(f"from_csv(line, '{schema}'{given})")
    fields = [f"{call}.{chance.choice('ab')}" for call in calls]
    data = Data(partial(texts, chance), (TEXT,))
    wanted = [expression_over((TEXT,), text, ansi=True) for text in (*calls, *fields)]
    refused = [reason for one in wanted if (reason := unsupported(one, (TEXT,)))]
    assert not refused
    found = difference(session, wanted, tmp_path, ansi=True, data=data)
    assert not found, "\n".join(found)
