"""Expressions as Spark's parser reads them, shown as nested calls."""

from __future__ import annotations

import pytest

from stateplan.planner.model.errors import AnalysisError
from stateplan.planner.model.expressions.core import (
    Alias,
    CaseWhen,
    Cast,
    Expression,
    LambdaFunction,
    Literal,
)
from stateplan.planner.model.expressions.unresolved import (
    MultiAlias,
    UnresolvedAttribute,
    UnresolvedExtractValue,
    UnresolvedFunction,
    UnresolvedLambdaVariable,
    UnresolvedStar,
)
from stateplan.planner.model.expressions.windows import WindowExpression
from stateplan.planner.model.settings.conf import Conf
from stateplan.planner.model.text.text import frame_in_sql
from stateplan.planner.sql import parse_expression


def show(node: Expression) -> str:
    """`f(a, 1)`, `a.b`, `child[index]`, `CAST`, `x -> body`; strings in quotes."""
    match node:
        case Literal(value=value):
            return repr(value)
        case UnresolvedAttribute(parts=parts):
            return ".".join(parts)
        case UnresolvedLambdaVariable(parts=parts):
            return "$" + ".".join(parts)
        case UnresolvedStar(target=target, except_names=names):
            left_out = ",".join(".".join(name) for name in names)
            return ".".join((*target, "*")) + (f"-{left_out}" if names else "")
        case UnresolvedFunction(name=name, arguments=arguments, distinct=distinct):
            inner = ("distinct " if distinct else "") + ", ".join(map(show, arguments))
            nulls = {None: "", True: " ignore", False: " respect"}[node.ignore_nulls]
            filtered = f" if {show(node.filter)}" if node.filter is not None else ""
            return f"{name}({inner}){nulls}{filtered}"
        case UnresolvedExtractValue(child=child, extraction=extraction):
            return f"{show(child)}[{show(extraction)}]"
        case Alias(child=child, name=name):
            return f"{show(child)} AS {name}"
        case MultiAlias(child=child, names=names):
            return f"{show(child)} AS {names}"
        case Cast(child=child, type_=type_, mode=mode):
            return f"{mode}({show(child)} as {type_.simple})"
        case CaseWhen(conditions=tests, values=values, otherwise=otherwise):
            pairs = [f"{show(t)}: {show(v)}" for t, v in zip(tests, values, strict=True)]
            return "{" + ", ".join(pairs + ([] if otherwise is None else [show(otherwise)])) + "}"
        case LambdaFunction(body=body, parameters=parameters):
            return f"({', '.join(map(show, parameters))}) -> {show(body)}"
        case WindowExpression(function=function, partition_by=keys):
            frame = f" {frame_in_sql(node, show)}" if node.frame is not None else ""
            return f"{show(function)} over {[show(key) for key in keys]}{frame}"
    raise AssertionError(type(node))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a + 1 * 2 - b / 4 % 5", "-(+(a, *(1, 2)), %(/(b, 4), 5))"),
        ("(a + 1) * 2 div 3", "div(*(+(a, 1), 2), 3)"),
        ("a or b and not c = 1", "or(a, and(b, not(=(c, 1))))"),
        # All comparisons stand on one level, from the left; sqlglot's own grammar has two.
        ("a < 1 = b", "=(<(a, 1), b)"),
        ("a | b ^ c & d", "|(a, ^(b, &(c, d)))"),
        ("1 << 2 + 1 >>> 3", ">>>(<<(1, +(2, 1)), 3)"),
        ("-a * ~b", "*(-(a), ~(b))"),
        ("a -1", "-(a, 1)"),
        ("a || 'x' || b", "concat(concat(a, 'x'), b)"),
        ("a != 1 and b <> 2 or ! c", "or(and(not(=(a, 1)), not(=(b, 2))), not(c))"),
        ("a <=> b", "<=>(a, b)"),
        ("a is distinct from b + 1", "not(<=>(a, +(b, 1)))"),
        ("a is not distinct from b", "<=>(a, b)"),
        ("a is not null", "isnotnull(a)"),
        ("not a is null", "not(isnull(a))"),
        ("a is not true or b is unknown", "or(not(<=>(a, True)), isnull(b))"),
        ("a between 1 and 2 and b", "and(between(a, 1, 2), b)"),
        ("a not in (1, 'x')", "not(in(a, 1, 'x'))"),
        ("a not like 'x%' escape '/'", "not(like(a, 'x%', '/'))"),
        ("a rlike 'x' or a regexp 'y'", "or(rlike(a, 'x'), rlike(a, 'y'))"),
        ("a like any ('x', 'y')", "likeany(a, 'x', 'y')"),
        ("a not like all ('x')", "notlikeall(a, 'x')"),
        ("case when a then 1 else 2 end", "{a: 1, 2}"),
        ("case a when 1 then 'x' end", "{=(a, 1): 'x'}"),
        ("cast(a as decimal(10, 2))", "ANSI(a as decimal(10,2))"),
        ("a::array<int>", "ANSI(a as array<int>)"),
        ("try_cast(a as interval day)", "TRY(a as interval day)"),
        ("s.a.b[0].c['k']", "s.a.b[0]['c']['k']"),
        ("(s).a", "s.a"),
        ("`a.b`.`c``d`", "a.b.c`d"),
        ("transform(t, x -> x + y)", "transform(t, ($x) -> +($x, $y))"),
        ("f((x, i) -> i)", "f(($x, $i) -> $i)"),
        ("count(*)", "count(1)"),
        ("count(distinct a, b)", "count(distinct a, b)"),
        ("sum(a) filter (where b > 1)", "sum(a) if >(b, 1)"),
        ("first(a ignore nulls)", "first(a) ignore"),
        ("last(a) respect nulls", "last(a) respect"),
        ("sum(a) over (partition by b order by c rows 1 preceding)", "sum(a) over ['b'] ROWS"
         " BETWEEN 1 PRECEDING AND CURRENT ROW"),
        ("extract(year from ts)", "extract('year', ts)"),
        ("substring(a from 2 for 3)", "substring(a, 2, 3)"),
        ("substr(a, 2)", "substr(a, 2)"),
        ("trim(both 'x' from a)", "trim('x', a)"),
        ("trim(a)", "trim(a)"),
        ("overlay(a placing 'x' from 1)", "overlay(a, 'x', 1)"),
        ("position('x' in a)", "locate('x', a)"),
        ("date_add(DAY, 1, ts)", "timestampadd('DAY', 1, ts)"),
        ("date_add(d, 1)", "date_add(d, 1)"),
        ("struct(a, b as c)", "struct(a, b AS c)"),
        ("(a, b + 1)", "named_struct('a', a, 'col2', +(b, 1))"),
        ("if(a, left(b, 1), right(b, 1))", "if(a, left(b, 1), right(b, 1))"),
        ("explode(m) as (k, v)", "explode(m) AS ('k', 'v')"),
        ("a b", "a AS b"),
        ("t.* except (a, b.c)", "t.*-a,b.c"),
        # No word is reserved.
        ("select", "select"),
        ("timestamp + date", "+(timestamp, date)"),
    ],
)  # fmt: skip
def test_expression(text: str, shown: str) -> None:
    assert show(parse_expression(text)) == shown


@pytest.mark.parametrize(
    ("text", "value", "type_"),
    [
        ("1", 1, "int"),
        ("-2147483648", -(2**31), "int"),
        ("2147483648", 2**31, "bigint"),
        ("10L", 10, "bigint"),
        ("1Y", 1, "tinyint"),
        ("- 2S", -2, "smallint"),
        ("1e3", 1000.0, "double"),
        ("1.2D", 1.2, "double"),
        ("'a' \"b\"", "ab", "string"),
        (r"'a\nb\u0041\101\%\x'", "a\nbAA\\%x", "string"),
        (r"r'a\n'", "a\\n", "string"),
        ("'it''s'", "it's", "string"),
        ("X'1F'", b"\x1f", "binary"),
        ("x'1'", b"\x01", "binary"),
        ("date '1970-01-02'", 1, "date"),
        ("timestamp '1970-01-01 00:00:01'", 1_000_000, "timestamp"),
        ("timestamp '1970-01-01 01:00:00+01:00'", 0, "timestamp"),
        ("timestamp_ntz '1970-01-01'", 0, "timestamp_ntz"),
        ("interval 10 minutes", 600_000_000, "interval minute"),
        ("interval 1 day 2 hours", 93_600_000_000, "interval day to hour"),
        ("interval '1 02:03' day to minute", 93_780_000_000, "interval day to minute"),
        ("interval '1-2' year to month", 14, "interval year to month"),
        ("interval -1.5 seconds", -1_500_000, "interval second"),
        ("interval '1 week'", 604_800_000_000, "interval day"),
        ("null", None, "void"),
        ("TRUE", True, "boolean"),
    ],
)
def test_literal(text: str, value: object, type_: str) -> None:
    literal = parse_expression(text)
    assert isinstance(literal, Literal)
    assert (literal.value, literal.data_type.simple) == (value, type_)


@pytest.mark.parametrize(
    ("text", "type_"),
    [("1.5", "decimal(2,1)"), (".05", "decimal(2,2)"), ("1.", "decimal(1,0)"),
     ("1e-2BD", "decimal(2,2)"), ("99999999999999999999", "decimal(20,0)")],
)  # fmt: skip
def test_decimal_literal(text: str, type_: str) -> None:
    assert parse_expression(text).data_type.simple == type_


def test_a_timestamp_is_local_time_of_the_session() -> None:
    conf = Conf({"spark.sql.session.timeZone": "Europe/Berlin"})
    literal = parse_expression("timestamp '1970-01-01 01:00:00'", conf)
    assert isinstance(literal, Literal) and literal.value == 0


@pytest.mark.parametrize(
    ("text", "condition", "message"),
    [
        ("300Y", "INVALID_NUMERIC_LITERAL_RANGE", "Numeric literal 300 is outside the valid range"),
        ("date '2020-13-01'", "INVALID_TYPED_LITERAL", 'typed literal "DATE" is invalid'),
        ("timestamp 'foo'", "INVALID_TYPED_LITERAL", 'typed literal "TIMESTAMP" is invalid'),
        ("x'0g'", "INVALID_TYPED_LITERAL", "typed literal \"X\" is invalid: '0g'"),
        ("interval '10 minuts'", "INVALID_TYPED_LITERAL", 'typed literal "INTERVAL" is invalid'),
        (
            "interval 1 month 2 days",
            "_LEGACY_ERROR_TEMP_0029",
            "Cannot mix year-month",
        ),
        ("interval 1 day to hour", "_LEGACY_ERROR_TEMP_0027", "must be a string"),
        ("interval 'a' minutes", "_LEGACY_ERROR_TEMP_0026", "got invalid value: a"),
        ("interval '25:70' hour to minute", "_LEGACY_ERROR_TEMP_0063", "minute 70 outside range"),
        ("interval 1.5 minutes", "INVALID_INTERVAL_FORMAT.INVALID_FRACTION", "fractional part"),
        ("cast(a as foo)", "UNSUPPORTED_DATATYPE", 'Unsupported data type "FOO"'),
        ("sum(a) over w", "MISSING_WINDOW_SPECIFICATION", "for `w`"),
    ],
)
def test_bad_literal_or_form(text: str, condition: str, message: str) -> None:
    with pytest.raises(AnalysisError) as caught:
        parse_expression(text)
    assert caught.value.condition == condition
    assert message in caught.value.message


def test_the_message_underlines_the_fragment_as_spark_does() -> None:
    text = "a + 1 > 2 and interval 1 month 2 days is null and a in (1, 2, 3, 4, 5)"
    with pytest.raises(AnalysisError) as caught:
        parse_expression(text)
    assert caught.value.message.split("\n")[1:] == [
        "== SQL (line 1, position 15) ==",
        "a + 1 > 2 and interval 1 month 2 days is null and a in (1, 2, 3, 4, 5...",
        "              ^^^^^^^^^^^^^^^^^^^^^^^",
    ]


def test_origins_count_lines_from_one_and_columns_from_nought() -> None:
    call = parse_expression("a +\n  upper(b)")
    assert isinstance(call, UnresolvedFunction)
    assert [(e.origin.line, e.origin.position) for e in (call, *call.arguments) if e.origin] == [
        (1, 0),
        (1, 0),
        (2, 2),
    ]
