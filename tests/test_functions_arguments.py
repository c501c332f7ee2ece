"""What functions refuse and cast, in Spark's words. (Texts and values: test_functions_on_spark.)"""

from __future__ import annotations

import pytest

from stateplan.planner.model import registry
from stateplan.planner.model.errors import AnalysisError
from stateplan.planner.model.expressions.core import AttributeReference, Expression, Literal, lit
from stateplan.planner.model.functions import resolve
from stateplan.planner.model.schemas.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    ArrayType,
    DataType,
    DayTimeIntervalType,
    MapType,
    StructField,
    StructType,
)
from stateplan.planner.model.settings.conf import Conf
from stateplan.planner.model.text.text import plan_text

CONF = Conf()


def column(name: str, data_type: DataType, *, nullable: bool = True) -> AttributeReference:
    return AttributeReference(name=name, type_=data_type, expr_id=0, is_nullable=nullable)


USER, QTY, AMOUNT = column("user", STRING), column("qty", INT), column("amount", DOUBLE)
DAY, TIME, FLAG = column("d", DATE), column("ts", TIMESTAMP), column("b", BOOLEAN)
NUMBERS, COUNTS = column("arr", ArrayType(INT)), column("m", MapType(STRING, INT))


@pytest.mark.parametrize(
    ("name", "arguments", "detail"),
    [
        ("upper", (), "The `upper` requires 1 parameters but the actual number is 0."),
        ("lpad", (USER,), "The `lpad` requires [2, 3] parameters but the actual number is 1."),
        ("greatest", (QTY,), "The `greatest` requires > 1 parameters but the actual number is 1."),
        (
            "upper",
            (NUMBERS,),
            'Cannot resolve "upper(arr)" due to data type mismatch: The first parameter requires '
            'the "STRING" type, however "arr" has the type "ARRAY<INT>".',
        ),
        ("size", (QTY,), 'The first parameter requires the ("ARRAY" or "MAP") type'),
        ("date_add", (DAY, AMOUNT), 'requires the ("INT" or "SMALLINT" or "TINYINT") type'),
        ("get_json_object", (QTY, lit("$.a")), 'The first parameter requires the "STRING" type'),
        (
            "round",
            (AMOUNT, QTY),
            'the input `scale` should be a foldable "INT" expression; however, got "qty".',
        ),
        (
            "array_contains",
            (NUMBERS, lit("a")),
            'should have been "ARRAY" followed by a value with same element type, but it\'s '
            '["ARRAY<INT>", "STRING"].',
        ),
        ("coalesce", (QTY, FLAG), 'should all be the same type, but it\'s ("INT" or "BOOLEAN").'),
        ("=", (COUNTS, COUNTS), 'The `=` does not support ordering on type "MAP<STRING, INT>".'),
        ("element_at", (COUNTS, lit(1)), 'should have been "MAP" followed by a value with same'),
        ("hash", (COUNTS,), 'cannot contain elements of the "MAP" type.'),
        ("named_struct", (lit("a"),), "requires 2n (n > 0) parameters"),
        ("explode", (QTY,), 'requires the ("ARRAY" or "MAP") type'),
        ("stack", (lit(2), lit(1), lit("a")), 'the same type: "INT" (1) <> "STRING" (2).'),
        (
            "date_part",
            (lit("eon"), TIME),
            'Cannot extract `eon` from "ts".',
        ),
        (
            "extract",
            (lit("second"), Literal(value=1, type_=DayTimeIntervalType(end=0))),
            "Cannot extract `second` from \"INTERVAL '",
        ),
    ],
)
def test_refusals(name: str, arguments: tuple[Expression, ...], detail: str) -> None:
    with pytest.raises(AnalysisError) as refused:
        resolve(name, arguments, CONF)
    assert detail in refused.value.message
    assert refused.value.message.startswith(f"[{refused.value.condition}] ")
    assert "SQLSTATE: 42" in refused.value.message


@pytest.mark.parametrize(
    ("name", "arguments", "text"),
    [
        ("upper", (QTY,), "upper(cast(qty#0 as string))"),
        ("sqrt", (QTY,), "SQRT(cast(qty#0 as double))"),
        ("year", (TIME,), "year(cast(ts#0 as date))"),
        ("date_add", (DAY, lit("1")), "date_add(d#0, cast(1 as int))"),
        ("round", (USER,), "round(cast(user#0 as double), 0)"),
        ("substring", (USER, lit(2)), "substring(user#0, 2, 2147483647)"),
        ("array_join", (NUMBERS, lit(",")), "array_join(cast(arr#0 as array<string>), ,, None)"),
        ("get_map_value", (COUNTS, lit(1)), "m#0[cast(1 as string)]"),
        ("concat", (USER, QTY), "concat(user#0, cast(qty#0 as string))"),
        ("log", (AMOUNT,), "LOG(E(), amount#0)"),
    ],
)
def test_arguments_are_cast_and_defaults_filled_in(
    name: str, arguments: tuple[Expression, ...], text: str
) -> None:
    assert plan_text(resolve(name, arguments, CONF)) == text


def test_without_ansi_other_casts_are_implicit() -> None:
    legacy = Conf({"spark.sql.ansi.enabled": "false"})
    assert plan_text(resolve("size", (NUMBERS,), legacy)) == "size(arr#0, true)"
    assert plan_text(resolve("+", (USER, QTY), legacy)) == (
        "(cast(user#0 as double) + cast(qty#0 as double))"
    )


def test_nullability_follows_the_arguments_unless_the_function_decides() -> None:
    number = column("n", INT, nullable=False)
    assert not resolve("+", (number, lit(1)), CONF).nullable
    assert resolve("/", (number, lit(2)), CONF).nullable
    assert resolve("sqrt", (number,), CONF).nullable
    assert not resolve("isnull", (QTY,), CONF).nullable
    assert not resolve("coalesce", (QTY, number), CONF).nullable


def test_generators_give_a_struct_of_their_columns() -> None:
    columns = (StructField("pos", INT, False), StructField("col", INT, True))
    assert resolve("posexplode", (NUMBERS,), CONF).data_type == StructType(columns)


def test_every_function_can_be_looked_up_under_each_of_its_names() -> None:
    for name in registry.names():
        assert registry.lookup(name).kind in ("scalar", "aggregate", "generator", "window")
