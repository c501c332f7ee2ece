"""The optimizer's rewrites of single expressions, by their texts in plans."""

from __future__ import annotations

import pytest

from stateplan.planner.model.expressions.core import (
    AggregateExpression,
    AttributeReference,
    Call,
    CaseWhen,
    Cast,
    Expression,
    GetStructField,
    Literal,
    lit,
)
from stateplan.planner.model.expressions.equality import ExpressionSet, same
from stateplan.planner.model.functions import resolve
from stateplan.planner.model.schemas.types import (
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    DataType,
    DecimalType,
)
from stateplan.planner.model.settings.conf import Conf
from stateplan.planner.model.text.text import plan_text
from stateplan.rules.optimization.expressions.simplify import simplify


def column(name: str, data_type: DataType, number: int) -> AttributeReference:
    return AttributeReference(name=name, type_=data_type, expr_id=number)


a = column("a", INT, 1)
b = column("b", BOOLEAN, 2)
c = column("c", BOOLEAN, 3)
s = column("s", STRING, 4)
t = column("t", BYTE, 5)
ts = column("ts", TIMESTAMP, 6)
m = column("m", DecimalType(10, 2), 7)
long = column("l", LONG, 8)
key = AttributeReference(name="k", type_=BOOLEAN, is_nullable=False, expr_id=9)
NULL = Literal(value=None, type_=INT)


def f(name: str, *arguments: Expression) -> Expression:
    return resolve(name, arguments, Conf())


def cast(expression: Expression, data_type: DataType) -> Cast:
    return Cast(child=expression, type_=data_type)


def case(condition: Expression, value: Expression, otherwise: Expression | None) -> CaseWhen:
    return CaseWhen(conditions=(condition,), values=(value,), otherwise=otherwise)


def big(value: int) -> Literal:
    return Literal(value=value, type_=LONG)


CASES = {
    "null makes null": (f("+", a, NULL), "null"),
    "null check of a column that is never null": (f("isnotnull", key), "true"),
    "null checks move to the operands": (
        f("isnull", f(">", a, lit(1))),
        "isnull(a#1)",
    ),
    "null literals leave coalesce": (f("coalesce", s, lit("x"), lit("y")), "coalesce(s#4, x)"),
    "null-safe comparison with null": (
        f("<=>", s, Literal(value=None, type_=STRING)),
        "isnull(s#4)",
    ),
    "one item is an equality": (f("in", a, lit(1)), "(a#1 = 1)"),
    "an item counts once": (f("in", a, lit(1), lit(1), lit(2)), "a#1 IN (1,2)"),
    "constants fold": (f("+", lit(1), lit(2)), "3"),
    "constants gather on the right": (f("+", f("+", lit(1), a), lit(2)), "(a#1 + 3)"),
    "a neutral constant goes": (f("*", a, lit(1)), "a#1"),
    "prefix pattern": (f("like", s, lit("x%")), "StartsWith(s#4, x)"),
    "infix pattern": (f("like", s, lit("%x%")), "Contains(s#4, x)"),
    "pattern with both ends": (
        f("like", s, lit("x%yz")),
        "((length(s#4) >= 3) AND (StartsWith(s#4, x) AND EndsWith(s#4, yz)))",
    ),
    "pattern that is a word": (f("like", s, lit("x")), "(s#4 = x)"),
    "a pattern for one character stays": (f("like", s, lit("x_")), "s#4 LIKE x_"),
    "an escaped pattern stays": (f("like", s, lit("x\\%%")), "s#4 LIKE x\\%%"),
    "true is neutral in AND": (f("and", b, lit(True)), "b#2"),
    "true absorbs in OR": (f("or", b, lit(True)), "true"),
    "the same conjunct counts once": (f("and", b, b), "b#2"),
    "a negated comparison": (f("not", f(">", a, lit(3))), "(a#1 <= 3)"),
    "De Morgan": (
        f("not", f("and", f(">", a, lit(3)), b)),
        "((a#1 <= 3) OR NOT b#2)",
    ),
    "a common factor comes out": (
        f("or", f("and", b, f("=", a, lit(1))), f("and", b, f("=", a, lit(2)))),
        "(b#2 AND ((a#1 = 1) OR (a#1 = 2)))",
    ),
    "the longer disjunction is absorbed": (f("and", b, f("or", b, c)), "b#2"),
    "a contradiction is null or false": (f("and", b, f("not", b)), "(isnull(b#2) AND null)"),
    "opposite comparisons are true or null": (
        f("or", f(">", a, lit(3)), f("<=", a, lit(3))),
        "(isnotnull(a#1) OR null)",
    ),
    "IF of a constant": (f("if", lit(True), a, lit(2)), "a#1"),
    "IF that gives truth": (f("if", b, lit(True), lit(False)), "(b#2 <=> true)"),
    "IF that gives truth of a condition never null": (
        f("if", key, lit(True), lit(False)),
        "k#9",
    ),
    "ELSE null goes": (case(b, lit(1), NULL), "CASE WHEN b#2 THEN 1 END"),
    "branches never taken go": (case(lit(False), lit(1), a), "a#1"),
    "comparisons move into constant branches": (
        f("=", f("if", b, lit("x"), lit("y")), lit("x")),
        "(b#2 <=> true)",
    ),
    "comparison with true": (f("=", b, lit(True)), "b#2"),
    "comparison with false": (f("=", b, lit(False)), "NOT b#2"),
    "a cast to the own type goes": (cast(a, INT), "a#1"),
    "of two widening casts the outer stays": (cast(cast(t, INT), LONG), "cast(t#5 as bigint)"),
    "a narrowing cast stays": (cast(cast(a, LONG), INT), "cast(cast(a#1 as bigint) as int)"),
    "of upper and lower the outer counts": (f("upper", f("lower", s)), "upper(s#4)"),
    "concatenations join": (f("concat", f("concat", s, lit("x")), s), "concat(s#4, x, s#4)"),
    "a field of a new struct": (
        GetStructField(
            child=Call(name="named_struct", arguments=(lit("x"), a, lit("y"), s)),
            ordinal=1,
            name="y",
        ),
        "s#4",
    ),
    "the constant is cast, not the column": (f(">", cast(a, LONG), big(5)), "(a#1 > 5)"),
    "the side of the constant stays": (f("<", big(5), cast(a, LONG)), "(5 < a#1)"),
    "a constant beyond the range": (
        f("<", cast(a, LONG), big(3_000_000_000)),
        "(isnotnull(a#1) OR null)",
    ),
    "a constant at the end of the range": (f(">=", cast(t, INT), lit(127)), "(t#5 = 127)"),
    "a constant between two values": (
        f(">", cast(a, DOUBLE), Literal(value=1.5, type_=DOUBLE)),
        "(a#1 > 1)",
    ),
    "a cast that loses digits stays": (
        f(">", cast(long, DOUBLE), Literal(value=1.5, type_=DOUBLE)),
        "(cast(l#8L as double) > 1.5)",
    ),
    "a day of a timestamp is a range": (
        f("=", cast(ts, DATE), Literal(value=19723, type_=DATE)),
        "((ts#6 >= 2024-01-01 00:00:00) AND (ts#6 < 2024-01-02 00:00:00))",
    ),
    "impossible items leave a list": (
        f("in", cast(t, INT), lit(1), lit(2), lit(300)),
        "t#5 IN (1,2)",
    ),
}


@pytest.mark.parametrize(("expression", "expected"), CASES.values(), ids=CASES.keys())
def test_simplified(expression: Expression, expected: str) -> None:
    simple = simplify(expression)
    assert plan_text(simple) == expected
    assert simplify(simple) is simple
    assert simple.data_type == expression.data_type


def test_count_of_what_is_never_null_counts_rows() -> None:
    counted = simplify(AggregateExpression(function=Call(name="count", arguments=(key,))))
    assert plan_text(counted) == "count(1)"


def test_count_of_a_nullable_column_stays() -> None:
    counted = AggregateExpression(function=Call(name="count", arguments=(a,)))
    assert simplify(counted) is counted


def test_filter_that_is_always_true_goes() -> None:
    summed = AggregateExpression(function=Call(name="sum", arguments=(a,)), filter=lit(True))
    assert plan_text(simplify(summed)) == "sum(a#1)"


def test_operands_of_commutative_operators_may_swap() -> None:
    assert same(f("+", a, lit(1)), f("+", lit(1), a))
    assert same(f(">", a, lit(1)), f("<", lit(1), a))
    assert not same(f("-", a, lit(1)), f("-", lit(1), a))


def test_sets_keep_the_order_and_the_first_spelling() -> None:
    one, two = f("=", a, lit(1)), f("=", lit(1), a)
    assert list(ExpressionSet([b, one, two])) == [b, one]
    assert list(ExpressionSet([b, one]).without([two])) == [b]
