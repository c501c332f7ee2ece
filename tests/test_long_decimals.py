"""Quotients, remainders and signs of decimals of any type, against a live Spark."""

from __future__ import annotations

import random
from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from arrow_comparison import Data, difference
from test_arrow_sql import expression_over

from stateplan.planner.model.expressions.core import AttributeReference
from stateplan.planner.model.schemas.types import DecimalType
from stateplan.runtime.kernels.expressions.numbers.decimals import divided
from stateplan.runtime.kernels.expressions.programs.accepting_numbers import in_long
from stateplan.runtime.kernels.expressions.programs.compile import unsupported
from stateplan.runtime.kernels.expressions.programs.program import Step

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

USUAL = ((10, 2), (20, 2), (38, 18), (38, 10), (28, 2), (18, 6), (38, 0), (20, 0))
"""Prices, their sums, what other systems export, counts as decimals."""
ROWS = 200
SEED = 4


def columns_of(chance: random.Random) -> tuple[AttributeReference, ...]:
    """The usual types, and some of any precision and scale."""
    kinds = list(USUAL)
    for _ in range(4):
        precision = chance.randint(1, 38)
        kinds.append((precision, chance.randint(0, precision)))
    return tuple(
        AttributeReference(name=f"d{i}", type_=DecimalType(*kind), expr_id=6_000 + i)
        for i, kind in enumerate(kinds)
    )


def value_of(precision: int, chance: random.Random) -> int | None:
    """A number of so many digits at most: null, zero, the extremes, halves, short and long ones."""
    most = 10**precision - 1
    found = chance.choice(
        (None, 0, 1, most, most // 2, 5 * 10 ** (precision - 1), 10 ** (precision - 1))
        + (chance.randrange(10 ** chance.randint(1, precision)),) * 12
    )
    return found if found is None or chance.random() < 0.6 else -found


def decimals(precision: int, scale: int, count: int, chance: random.Random) -> Any:
    drawn = [value_of(precision, chance) for _ in range(count)]
    whole = pa.array([None if n is None else Decimal(n) for n in drawn], pa.decimal128(38, 0))
    return whole.view(pa.decimal128(38, scale)).cast(pa.decimal128(precision, scale))


def rows(columns: tuple[AttributeReference, ...], chance: random.Random) -> pa.Table:
    arrays: dict[str, Any] = {}
    for column in columns:
        assert isinstance(column.type_, DecimalType)
        arrays[column.name] = decimals(column.type_.precision, column.type_.scale, ROWS, chance)
    return pa.table(arrays)


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> Iterator[SparkSession]:
    yield spark.newSession()


@pytest.mark.parametrize("ansi", [True, False])
def test_quotients_remainders_and_signs(session: SparkSession, ansi: bool, tmp_path: Path) -> None:
    chance = random.Random(SEED + ansi)
    columns = columns_of(chance)
    data = Data(partial(rows, columns, chance), columns)
    names = [column.name for column in columns]
    texts = [f"{sign}({name})" for name in names for sign in ("-", "abs", "floor", "ceil")]
    texts += [
        f"{chance.choice(('round', 'bround'))}({name}, {place})"
        for name in names
        for place in range(0, 12, 3)
    ]
    texts += [
        f"{cast}({name} AS {kind})"
        for name in names
        for kind in ("TINYINT", "INT", "BIGINT")
        for cast in ("CAST", "try_cast")
    ]
    for _ in range(60):
        one, other = chance.choices(names, k=2)
        operation = chance.choice(("{} / {}", "{} div {}", "{} % {}", "pmod({}, {})"))
        operation = chance.choice((operation,) * 3 + ("try_divide({}, {})", "try_mod({}, {})"))
        texts.append(operation.format(one, chance.choice((other, other, "3", "0.07"))))
    expressions = [expression_over(columns, text, ansi=ansi) for text in dict.fromkeys(texts)]
    computed = [e for e in expressions if unsupported(e, columns) is None]
    assert len(computed) > 0.8 * len(expressions)
    found = difference(session, computed, tmp_path, ansi=ansi, data=data)
    assert not found, "\n".join(found)


def test_quotients_found_in_64_bits_have_room_whatever_the_types() -> None:
    chance = random.Random(SEED)
    exact = Context(prec=99)
    types = [(p, s) for p in range(1, 19) for s in range(p + 1)]
    tried = 0
    for (p, s), (q, t) in product(types, types):
        scale = max(6, s + q + 1)
        kinds = f"decimal({p},{s})", f"decimal({q},{t})"
        fullest = scale + t - s == 17 and p > 16
        if not in_long("/", kinds) or not (fullest or chance.random() < 0.02):
            continue
        kind = f"decimal({p - s + t + scale},{scale})"
        step = Step("/", (0, 1), kind, kinds=kinds, mode="LEGACY")
        left, right = decimals(p, s, 20, chance), decimals(q, t, 20, chance)
        wanted = [
            None
            if a is None or not b
            else exact.divide(a, b).quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, exact)
            for a, b in zip(left.to_pylist(), right.to_pylist(), strict=True)
        ]
        assert divided(step, left, right, "DIVIDE_BY_ZERO").to_pylist() == wanted, kinds
        tried += 1
    assert tried > 300
