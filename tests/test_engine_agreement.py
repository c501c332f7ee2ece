"""What is known of the embedded engine: the table, the questions to it, rewrites and errors."""

from __future__ import annotations

import json
from typing import Any

import pytest
from engine_comparison.table import SECTIONS, Entry, load, merge, summary, text_of

from stateplan.planner.model import registry
from stateplan.planner.model.expressions.core import (
    AttributeReference,
    Call,
    CaseWhen,
    Cast,
    Expression,
    Literal,
    lit,
)
from stateplan.planner.model.functions import resolve
from stateplan.planner.model.schemas.types import (
    BOOLEAN,
    DOUBLE,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    ArrayType,
    DataType,
    DecimalType,
    StructField,
    StructType,
)
from stateplan.planner.model.settings.conf import Conf
from stateplan.planner.model.text.spark_sql import spark_sql
from stateplan.runtime.engines import agreement
from stateplan.runtime.engines.agreement import TABLE, disagreements
from stateplan.runtime.engines.embedded_errors import spark_error
from stateplan.runtime.engines.exact import ExactForm
from stateplan.runtime.engines.rewrites import REWRITES
from stateplan.runtime.engines.rewriting import exact_form
from stateplan.runtime.engines.signatures import format_runs, kinds, pattern_features, signatures

RAISES = agreement.RAISES
UTC = {"ansi": True, "time_zone": "UTC"}


def column(name: str, data_type: DataType) -> AttributeReference:
    return AttributeReference(name=name, type_=data_type)


def call(name: str, *arguments: Expression) -> Expression:
    return resolve(name, arguments, Conf({}))


def shown(expression: Expression) -> list[str]:
    return [str(signature) for signature in signatures(expression)]


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A table of a test's own; sections -> name -> arguments -> verdict."""
    sections: dict[str, Any] = {
        "expressions": {},
        "guards": {},
        "readers": {},
        "rewritten": {},
        "steps": {},
    }
    monkeypatch.setattr(agreement, "table", lambda: sections)
    return sections


# ------------------------------------------------------------------------------ the table itself


def test_the_table_is_in_the_form_that_the_command_writes() -> None:
    assert TABLE.read_text(encoding="utf-8") == text_of(json.loads(TABLE.read_text("utf-8")))


def test_every_function_has_an_entry_or_a_reason() -> None:
    content = load()
    sections = content["sections"]
    have = {*sections["expressions"], *sections["steps"], *content["not compared"]}
    assert [name for name in registry.names() if registry.lookup(name).name not in have] == []


def test_the_summary_counts_what_runs_plainly_or_rewritten() -> None:
    verdicts = {"string": "equal", "int": "differs: x", "date": {"ansi": "differs: y"}}
    sections = {"expressions": {"f": verdicts}, "rewritten": {"f": {"date": {"ansi": "typed"}}}}
    assert summary({"sections": sections}) == (
        "expressions       2 of      3 signatures run (67 %), 1 of them rewritten"
    )


# ------------------------------------------------------------------------------------ signatures


def test_types_stand_as_their_kinds() -> None:
    inner = StructType((StructField("a", INT), StructField("b", ArrayType(DecimalType(20, 2)))))
    assert kinds(inner) == ("struct<array<decimal38>>", "struct<int>")
    assert kinds(DecimalType(18, 18)) == ("decimal18",)


def test_constants_are_marked_and_some_stand_with_their_value() -> None:
    text, time = column("s", STRING), column("t", TIMESTAMP)
    assert shown(call("substring", text, lit(1), lit(2))) == ["substring(string, =int, =int)"]
    assert shown(call("date_trunc", lit("DAY"), time)) == ["date_trunc(='DAY', timestamp)"]
    assert shown(call("=", text, lit("a"))) == ["=(string, =string)"]


def test_functions_of_any_number_of_arguments_have_a_signature_per_kind() -> None:
    found = shown(call("hash", column("a", INT), column("b", STRING), column("c", INT)))
    assert found == ["hash(int)", "hash(string)"]


def test_a_decimal_result_that_may_be_cut_is_another_signature() -> None:
    small, large = column("a", DecimalType(10, 2)), column("b", DecimalType(38, 18))
    assert shown(call("+", small, small)) == ["+(decimal18, decimal18 -> decimal18)"]
    assert shown(call("+", large, large)) == ["+(decimal38, decimal38 -> decimal of 38 digits)"]


@pytest.mark.parametrize(
    ("pattern", "features"),
    [
        ("abc", ("plain",)),
        ("", ("empty",)),
        (r"^\d+\.", ("escaped class", "escaped sign", "start", "repeated")),
        ("(?i)a", ("look around or flags", "group", "repeated")),
        ("[a-z&&[b]]", ("set of sets", "set")),
    ],
)
def test_features_of_regular_expressions(pattern: str, features: tuple[str, ...]) -> None:
    assert pattern_features(pattern) == features


def test_parts_of_formats() -> None:
    assert format_runs("yyyy-MM-dd'T'HH") == ("-", "HH", "MM", "dd", "yyyy", "'quoted'")


# ----------------------------------------------------------------------------------- the question


def test_what_is_not_in_the_table_is_not_used(known: dict[str, Any]) -> None:
    found = disagreements(call("upper", call("lower", column("s", STRING))), **UTC)
    assert [d.reason for d in found] == [
        "upper(string) was not compared with Spark",
        "lower(string) was not compared with Spark",
    ]
    known["expressions"] = {"upper": {"string": "equal"}, "lower": {"string": "differs: x"}}
    (left,) = disagreements(call("upper", call("lower", column("s", STRING))), **UTC)
    assert left.reason == "lower(string) differs: x"
    assert isinstance(left.expression, Call)
    assert left.expression.name == "lower"


def test_verdicts_may_depend_on_mode_and_zone(known: dict[str, Any]) -> None:
    hour = call("hour", column("t", TIMESTAMP))
    known["expressions"] = {
        "hour": {"timestamp": {"ansi, UTC": "equal", "ansi, other zones": "differs: 1"}}
    }
    assert disagreements(hour, **UTC) == ()
    assert len(disagreements(hour, ansi=True, time_zone="Europe/Paris")) == 1
    assert len(disagreements(hour, ansi=False, time_zone="UTC")) == 1


def test_what_can_fail_is_not_put_where_the_engine_computes_too_much(known: dict[str, Any]) -> None:
    number = column("n", INT)
    divided = Call(name="/", arguments=(column("a", DOUBLE), column("b", DOUBLE)))
    guarded = CaseWhen(conditions=(column("c", BOOLEAN),), values=(divided,))
    known["expressions"] = {"/": {"double, double": RAISES}, "case": {"double": "equal"}}
    assert "may compute a branch" in disagreements(guarded, **UTC)[0].reason
    known["guards"] = {"case": {"": "equal"}}
    assert disagreements(guarded, **UTC) == ()
    assert agreement.can_fail(guarded, **UTC)
    assert not agreement.can_fail(number, **UTC)


def test_readers_and_steps_are_asked_by_kind(known: dict[str, Any]) -> None:
    known["readers"] = {"json": {"int": "equal"}, "json option": {"mode='PERMISSIVE'": "equal"}}
    known["steps"] = {"distinct": {"int": "equal"}}
    schema = StructType((StructField("a", INT), StructField("b", DOUBLE)))
    options = {"MODE": "PERMISSIVE", "multiLine": "TRUE"}
    assert agreement.reader_disagreements("json", schema, options, **UTC) == (
        "json(double) was not compared with Spark",
        "json option(multiline='true') was not compared with Spark",
    )
    assert agreement.step_disagreements("distinct", [INT], **UTC) == ()
    assert len(agreement.step_disagreements("distinct", [INT, DOUBLE], **UTC)) == 1


# ------------------------------------------------------------------------------------- rewriting


def sql(expression: Expression) -> str:
    return spark_sql(expression, lambda node: f"`{node.name}`")


def test_a_rewrite_is_used_where_the_table_says_that_it_is_equal(known: dict[str, Any]) -> None:
    added = call("+", column("a", INT), column("b", INT))
    known["expressions"] = {"+": {"int, int": "differs: a value where Spark fails"}}
    assert exact_form(added, **UTC) is added
    known["rewritten"] = {"+": {"int, int": "checked, also where it fails"}}
    exact = exact_form(added, **UTC)
    assert isinstance(exact, ExactForm)
    assert exact.data_type == INT
    assert exact_form(exact, **UTC) is exact
    assert disagreements(exact, **UTC) == ()
    assert agreement.can_fail(exact, **UTC)
    assert "raise_error(concat('[ARITHMETIC_OVERFLOW] integer overflow." in sql(exact)


def test_every_rewrite_is_used() -> None:
    verdicts = json.loads(agreement.TABLE.read_text(encoding="utf-8"))["sections"]["rewritten"]
    named = set()
    for verdict in (one for by_arguments in verdicts.values() for one in by_arguments.values()):
        named.update(verdict.values() if isinstance(verdict, dict) else [verdict])
    assert {name.removesuffix(agreement.FAILS) for name in named} == set(REWRITES)


def test_a_small_number_of_seconds_is_formatted_as_a_timestamp() -> None:
    """The engine has no time for every BIGINT, which `from_unixtime` takes."""
    pattern = Literal(value="yyyy", type_=STRING)
    for seconds, form in (
        (Cast(child=column("a", INT), type_=LONG, implicit=True), "date_format"),
        (column("b", LONG), "from_unixtime"),
    ):
        exact = exact_form(call("from_unixtime", seconds, pattern), **UTC)
        assert sql(exact).startswith(f"{form}(")
        assert bool(disagreements(exact, **UTC)) is (form == "from_unixtime")


def test_the_arguments_of_an_exact_form_are_asked_for_as_well(known: dict[str, Any]) -> None:
    known["expressions"] = {"+": {"int, int": "differs: x"}}
    known["rewritten"] = {"+": {"int, int": "checked"}}
    inner = Cast(child=column("s", STRING), type_=INT)
    exact = exact_form(call("+", inner, column("b", INT)), **UTC)
    assert [d.expression for d in disagreements(exact, **UTC)] == [inner]


def test_a_form_that_was_not_measured_is_not_used(known: dict[str, Any]) -> None:
    added = call("+", column("a", INT), column("b", INT))
    form = ExactForm(original=added, rewrite="mine", template="({0} + {1})")
    (found,) = disagreements(form, **UTC)
    assert found.reason == "the form 'mine' was not compared with Spark"


def test_and_becomes_a_case_where_its_second_part_can_fail(known: dict[str, Any]) -> None:
    divided = Call(name="div", arguments=(column("a", LONG), column("b", LONG)))
    asked = call("and", column("c", BOOLEAN), call(">", divided, Literal(value=1, type_=LONG)))
    known["expressions"] = {
        "and": {"boolean": "equal"},
        ">": {"bigint, =bigint": "equal"},
        "div": {"bigint, bigint": RAISES},
        "literal": {"=bigint": "equal"},
    }
    known["guards"] = {"and": {"boolean": "differs: x"}, "and lazy": {"boolean": "equal"}}
    exact = exact_form(asked, **UTC)
    assert disagreements(exact, **UTC) == ()
    assert sql(exact).startswith("((CASE WHEN coalesce(`c`, true) THEN")


# ---------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("text", "condition", "message"),
    [
        ("ArithmeticException: divide by zero", "DIVIDE_BY_ZERO", "Division by zero. Use"),
        ("SparkRuntimeException: Divide by zero error", "DIVIDE_BY_ZERO", "Division by zero. Use"),
        ("Remainder by zero", "REMAINDER_BY_ZERO", "Remainder by zero. Use `try_mod`"),
        (
            "SparkRuntimeException: Cast error: Cannot cast string 'x' to value of Int32 type",
            "CAST_INVALID_INPUT",
            'The value \'x\' of the type "STRING" cannot be cast to "INT" because',
        ),
        (
            "AnalysisException: invalid timestamp: x",
            "CAST_INVALID_INPUT",
            'The value \'x\' of the type "STRING" cannot be cast to "TIMESTAMP" because',
        ),
        (
            "SparkRuntimeException: Cast error: Can't cast value 300 to type Int8",
            "CAST_OVERFLOW",
            'The value 300 cannot be cast to "TINYINT" due to an overflow.',
        ),
        (
            "SparkRuntimeException: [INVALID_ARRAY_INDEX] The index 5 is out of bounds.",
            "INVALID_ARRAY_INDEX",
            "The index 5 is out of bounds.",
        ),
        (
            "AnalysisException: [ARITHMETIC_OVERFLOW] long overflow. SQLSTATE: 22003",
            "ARITHMETIC_OVERFLOW",
            "long overflow.",
        ),
    ],
)
def test_errors_come_under_sparks_condition(text: str, condition: str, message: str) -> None:
    error = spark_error(text)
    assert error is not None
    assert (error.condition, error.message[: len(message)]) == (condition, message)
    assert error.text.startswith(f"[{condition}] ")


def test_words_that_are_not_known_stand_for_no_condition() -> None:
    assert spark_error("AnalysisException: something else") is None


def test_what_other_values_show_to_differ_is_taken_over() -> None:
    def content(**entries: Entry) -> dict[str, Any]:
        sections: dict[str, Any] = {section: {} for section in SECTIONS}
        return {"sections": sections | {"expressions": {"f": dict(entries)}}}

    zones = {"ansi, UTC": "equal", "ansi, Europe/Berlin": "differs: 1, Spark 2", "legacy": "equal"}
    one = content(
        a="equal", b="equal", c="differs: 1, Spark 2", d="equal", e=zones, here_alone="equal"
    )
    other = content(
        a="equal",
        b={"ansi": "equal, also where it fails", "legacy": "fails"},
        c="equal",
        d=zones,
        e={"ansi": "equal", "legacy": "fails"},
        there_alone="equal",
    )
    assert merge(one, other) == 3
    assert one["sections"]["expressions"]["f"] == {
        "a": "equal",
        "b": {"ansi": "equal, also where it fails", "legacy": "fails"},
        "c": "differs: 1, Spark 2",
        "d": zones,
        "e": zones | {"legacy": "fails"},
        "here_alone": "equal",
    }
