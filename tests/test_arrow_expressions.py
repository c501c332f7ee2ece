"""What tasks compute without Spark, against a live Spark: each operation and type of the table."""

from __future__ import annotations

import pickle
import random
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import arrow_comparison
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import random_patterns
from agreed import agree, digest, is_agreed
from arrow_cases import casts, operations, trees
from arrow_comparison import NAMES, Data, chunked, difference, in_zone, is_ansi, plain

from stateplan.planner.model.expressions.core import (
    AttributeReference,
    Call,
    CaseWhen,
    Cast,
    Expression,
    Literal,
    lit,
)
from stateplan.planner.model.schemas.types import (
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    CalendarIntervalType,
    DayTimeIntervalType,
    DecimalType,
)
from stateplan.planner.model.text.spark_sql import spark_sql
from stateplan.planner.model.tree import replace
from stateplan.runtime.kernels.errors import KernelError
from stateplan.runtime.kernels.expressions.evaluator import Evaluator
from stateplan.runtime.kernels.expressions.operations import OPERATIONS as COMPUTED
from stateplan.runtime.kernels.expressions.programs.compile import (
    compile_program,
    unsupported,
)
from stateplan.runtime.kernels.expressions.programs.day_times import in_day_time
from stateplan.runtime.kernels.expressions.programs.supported import OPERATIONS
from stateplan.runtime.kernels.expressions.texts.matching import may_be_no_word
from stateplan.runtime.kernels.expressions.values.vectors import decoded, is_encoded
from stateplan.runtime.kernels.scans.row_lists import RowLists
from stateplan.runtime.kernels.scans.words import encoded_where_repeated

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ZONED = ("date_trunc", "hour", "timestamp_add_interval", "timestamp_add_ym_interval",
         "subtract_timestamps", "date_format", "months_between", "timestampadd", "timestampdiff",
         "make_timestamp", "gettimestamp", "sequence")  # fmt: skip
ZONES = ("America/New_York", "Pacific/Apia", "+05:30")


@pytest.fixture(scope="module")
def session(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SparkSession]:
    own = spark.newSession()
    own.conf.set("spark.sql.codegen.wholeStage", "false")
    own.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    own.conf.set("spark.sql.session.timeZone", "UTC")
    # What is compared is `upper(lower(s))` itself, not the `upper(s)` that a plan would have.
    rule = "org.apache.spark.sql.catalyst.optimizer.SimplifyCaseConversionExpressions"
    own.conf.set("spark.sql.optimizer.excludedRules", rule)
    yield own


def test_all_that_is_in_the_table_is_computed() -> None:
    lazily = {"and", "or", "if", "case", "coalesce"}
    assert set(OPERATIONS) == set(COMPUTED) - {"cast"} | lazily


@pytest.mark.parametrize("ansi", [True, False])
def test_operations(session: SparkSession, ansi: bool, tmp_path: Path) -> None:
    session.conf.set("spark.sql.session.timeZone", "UTC")
    expressions: list[Expression] = []
    for name in OPERATIONS:
        own = [in_zone(e, "UTC") for e in operations(name)]
        own = [e for e in own if unsupported(e, NAMES) is None]
        assert own, name
        expressions += [e for e in own if is_ansi(e) == ansi]
    found = []
    for chunk in chunked(expressions):
        found += difference(session, chunk, tmp_path, ansi=ansi)
    assert not found, "\n".join(found)


def test_an_answer_that_is_not_the_agreed_one_is_compared(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    upper, lower = (next(iter(operations(name))) for name in ("upper", "lower"))
    ansi = is_ansi(upper)
    assert difference(session, [upper], tmp_path, ansi=ansi) == []
    right = arrow_comparison.evaluator
    monkeypatch.setattr(arrow_comparison, "evaluator", lambda _, data: right([lower], data))
    (found,) = difference(session, [upper], tmp_path, ansi=ansi)
    assert found.startswith("upper(") and ": Spark " in found


@pytest.mark.parametrize("mode", ["ANSI", "LEGACY", "TRY"])
def test_casts(session: SparkSession, mode: str, tmp_path: Path) -> None:
    expressions = [in_zone(e, "UTC") for e in casts() if e.mode == mode]
    expressions = [e for e in expressions if unsupported(e, NAMES) is None]
    found = []
    for chunk in chunked(expressions):
        found += difference(session, chunk, tmp_path, ansi=mode != "LEGACY")
    assert not found, "\n".join(found)


@pytest.mark.parametrize("zone", ZONES)
def test_time_zones(session: SparkSession, zone: str, tmp_path: Path) -> None:
    session.conf.set("spark.sql.session.timeZone", zone)
    candidates = [e for name in ZONED for e in operations(name)] + [
        e for e in casts() if e.mode == "LEGACY"
    ]
    expressions = [in_zone(e, zone) for e in candidates if _has_time(e)]
    expressions = [e for e in expressions if unsupported(e, NAMES) is None]
    try:
        for ansi in (True, False):
            chosen = [e for e in expressions if is_ansi(e) == ansi]
            found = difference(session, chosen, tmp_path, ansi=ansi) if chosen else []
            assert not found, "\n".join(found)
    finally:
        session.conf.set("spark.sql.session.timeZone", "UTC")


def _has_time(expression: Expression) -> bool:
    kinds = [expression.data_type, *(child.data_type for child in expression.children)]
    return TIMESTAMP in kinds


@pytest.mark.parametrize("ansi", [True, False])
@pytest.mark.parametrize("seed", [1, 2])
def test_random_trees(session: SparkSession, seed: int, ansi: bool, tmp_path: Path) -> None:
    found = []
    for chunk in chunked(trees(150, seed, ansi=ansi), 75):
        found += difference(session, chunk, tmp_path, ansi=ansi)
    assert not found, "\n".join(found)


def test_random_patterns(session: SparkSession, tmp_path: Path) -> None:
    data = Data(partial(random_patterns.texts, random.Random(1)), (random_patterns.TEXT,))
    asked = random_patterns.calls(40, 1)
    assert len(asked) > 80
    found = difference(session, asked, tmp_path, ansi=True, data=data)
    assert not found, "\n".join(found)


def test_case_of_all_letters(session: SparkSession, tmp_path: Path) -> None:
    # Beyond the first two planes no letter has a case.
    points = [p for p in range(1, 0x20000) if not 0xD800 <= p < 0xE000]
    letters = pa.table({"s": [chr(p) for p in points]})
    column = AttributeReference(name="s", type_=STRING)
    calls = [Call(name=name, arguments=(column,)) for name in ("upper", "lower")]
    program = compile_program(calls, [column])
    assert program is not None
    found = Evaluator(program).evaluate(letters.combine_chunks().to_batches()[0])
    shown = digest(*(ours.to_pylist() for ours in found))
    if is_agreed(("case of all letters",), shown):
        return
    pq.write_table(letters, tmp_path / "letters.parquet")
    frame = session.read.parquet(str(tmp_path / "letters.parquet"))
    answer = frame.selectExpr("s", "upper(s)", "lower(s)").toArrow()
    for i, ours in enumerate(found, 1):
        theirs = answer.column(i).to_pylist()
        pairs = zip(answer.column(0).to_pylist(), theirs, ours.to_pylist(), strict=True)
        assert [(letter, a, b) for letter, a, b in pairs if a != b] == []
    agree(("case of all letters",), shown)


def test_words_of_all_letters_end_where_java_sees_it(session: SparkSession, tmp_path: Path) -> None:
    points = (p for p in range(0x80, 0x110000) if not 0xD800 <= p < 0xE000)
    signs = [chr(p) for p in points if p % 50 == 0 or chr(p).isalnum() or chr(p).isidentifier()]
    rows = pa.table({"s": [f"{sign}a" for sign in signs if not may_be_no_word(sign)]})
    assert rows.num_rows > 50_000
    column = AttributeReference(name="s", type_=STRING)
    bound = _call("rlike", column, lit(r"^.\ba"))
    program = compile_program([bound], [column])
    assert program is not None
    (found,) = Evaluator(program).evaluate(rows.combine_chunks().to_batches()[0])
    shown = digest(found.to_pylist())
    if is_agreed(("words of all letters",), shown):
        return
    pq.write_table(rows, tmp_path / "signs.parquet")
    frame = session.read.parquet(str(tmp_path / "signs.parquet"))
    theirs = frame.selectExpr("s", spark_sql(bound, lambda column: column.name)).toArrow()
    pairs = zip(*(column.to_pylist() for column in theirs.columns), found.to_pylist(), strict=True)
    assert [(text, a, b) for text, a, b in pairs if a != b] == []
    agree(("words of all letters",), shown)


@pytest.mark.parametrize("kind", ["double", "float"])
def test_floats_as_strings(session: SparkSession, kind: str, tmp_path: Path) -> None:
    """Java 17 shows subnormal numbers, powers of two and large numbers in ways of its own."""
    random_ = np.random.default_rng(17)
    wide, narrow = (np.float64, np.int64) if kind == "double" else (np.float32, np.int32)
    bits = random_.integers(0, np.iinfo(narrow).max, 8_000, narrow).view(wide)
    powers = np.ldexp(np.ones(240, wide), np.arange(-120, 120))
    # Where Java's sum of two longs, or ints, overflows.
    large = (10.0 ** random_.uniform(15, 27, 4_000)).astype(wide)
    small = random_.integers(1, 2**20, 1_000).astype(narrow).view(wide)
    short = (
        random_.integers(-(10**6), 10**6, 4_000) / 10.0 ** random_.integers(0, 12, 4_000)
    ).astype(wide)
    near = 1 + random_.uniform(-1e-5, 1e-5, 1_000).astype(wide)
    numbers = pa.table({"n": np.concatenate([bits, powers, large, small, short, -short, near])})
    asked = ["CAST(n AS STRING)", *(("exp(n)", "ln(n)") if kind == "double" else ())]
    column = AttributeReference(name="n", type_=DOUBLE if kind == "double" else FLOAT)
    calls: list[Expression] = [Cast(child=column, type_=STRING), _call("exp", column)]
    calls.append(_call("ln", column))
    program = compile_program(calls[: len(asked)], [column])
    assert program is not None
    found = Evaluator(program).evaluate(numbers.combine_chunks().to_batches()[0])
    question = (*asked, digest(plain(numbers.column(0))))
    shown = digest(*map(plain, found))
    if is_agreed(question, shown):
        return
    pq.write_table(numbers, tmp_path / "numbers.parquet")
    frame = session.read.parquet(str(tmp_path / "numbers.parquet")).coalesce(1)
    theirs = frame.selectExpr(*asked).toArrow()
    for ours, expected in zip(found, theirs.columns, strict=True):
        pairs = zip(numbers.column(0).to_pylist(), plain(expected), plain(ours), strict=True)
        assert [(number, a, b) for number, a, b in pairs if a != b] == []
    agree(question, shown)


# ---------------------------------------------------------------------------- what is computed


A = AttributeReference(name="a", type_=INT)
B = AttributeReference(name="b", type_=INT)


def _call(name: str, *arguments: Expression, ansi: bool = True) -> Call:
    return Call(name=name, arguments=arguments, ansi=ansi)


def _results(
    expression: Expression, a: Sequence[int | None], b: Sequence[int | None]
) -> list[object]:
    program = compile_program([expression], [A, B])
    assert program is not None
    batch = pa.record_batch([pa.array(a, pa.int32()), pa.array(b, pa.int32())], ["a", "b"])
    found: list[object] = Evaluator(program).evaluate(batch)[0].to_pylist()
    return found


def test_branches_are_computed_only_where_they_are_taken() -> None:
    quotient = _call("%", A, B)
    guarded = _call("if", _call("=", B, lit(0)), lit(-1), quotient)
    assert _results(guarded, [7, 8, None], [0, 3, 0]) == [-1, 2, -1]
    both = _call("and", _call("not", _call("=", B, lit(0))), _call("=", quotient, lit(1)))
    assert _results(both, [7, 7, 7], [0, 3, None]) == [False, True, None]
    with pytest.raises(KernelError, match="REMAINDER_BY_ZERO"):
        _results(quotient, [7], [0])
    assert _results(_call("+", A, quotient), [None, 1], [0, 2]) == [None, 2]


def test_conditions_are_passed_one_after_the_other() -> None:
    condition = _call(
        "and", _call("not", _call("=", B, lit(0))), _call("=", _call("%", A, B), lit(1))
    )
    program = compile_program([_call("%", A, B)], [A, B], [condition])
    assert program is not None
    batch = pa.record_batch(
        [pa.array([7, 7, None, 8, 9] * 30_000, pa.int32()),
         pa.array([0, 3, 0, 3, 2] * 30_000, pa.int32())],
        ["a", "b"],
    )  # fmt: skip
    results, kept = Evaluator(program).select(batch)
    assert results[0].to_pylist() == [1, 1] * 30_000
    assert kept.to_pylist() == [False, True, False, False, True] * 30_000


@pytest.mark.parametrize("more", [0, 100_000])
def test_conditions_on_encoded_strings(more: int) -> None:
    # Of a batch several parts are computed, the words once, even where a part has fewer rows.
    text, other = (
        AttributeReference(name="s", type_=STRING),
        AttributeReference(name="n", type_=INT),
    )
    condition = _call(
        "and", _call("not", _call("=", _call("upper", text), lit("A"))), _call("isnotnull", other)
    )
    program = compile_program([text, _call("upper", text)], [other, text], [condition])
    assert program is not None
    assert program.read_by_word == {1}
    pair = compile_program([_call("concat", text, _call("upper", text))], [other, text])
    assert pair is not None and pair.read_by_word == {1}, "upper takes it alone"
    assert pair.taken_alone == {1}
    same = compile_program([text], [other, text])
    assert same is not None and same.read_by_word == {1} and same.taken_alone == set()
    both = AttributeReference(name="t", type_=STRING)
    pair = compile_program([_call("concat", text, both)], [both, text])
    assert pair is not None and pair.read_by_word == set()
    words = pa.array(["a", "bé", "A", None, "c"] * 30_000 + [f"w{i}" for i in range(more)])
    words = words.take(np.random.default_rng(more).permutation(len(words)))
    numbers = pa.array(np.arange(len(words)), pa.int32())
    coded = encoded_where_repeated(words)
    assert is_encoded(coded)
    expected, kept = Evaluator(program).select(pa.record_batch([numbers, words], ["n", "s"]))
    passed = words.filter(kept)
    assert len(passed) == 60_000 + more
    assert [passed, pc.utf8_upper(passed)] == expected
    batch = pa.RecordBatch.from_arrays([numbers, coded], ["n", "s"])
    results, mask = Evaluator(program).select(batch, encoded=True)
    assert all(map(is_encoded, results))
    assert [decoded(column) for column in results] == expected
    assert mask == kept


@pytest.mark.parametrize("some", [4, 20_000], ids=["few", "many"])
def test_combinations_of_encoded_strings_are_computed_once(some: int) -> None:
    s, t = (AttributeReference(name=name, type_=STRING) for name in "st")
    both = _call("concat", s, lit(" "), t)
    parts = _call("split", both, lit(" "), lit(-1))
    program = compile_program([both, parts, _call("length", both), _call("=", s, t)], [s, t])
    assert program is not None
    own = np.random.default_rng(some)

    def drawn(words: list[str | None]) -> pa.Array:
        return pa.array(words).take(pa.array(own.integers(0, len(words), 150_000)))

    texts = [drawn([None, "", "é x", *map(str, range(some))]), drawn(["1", None, "a  b", "2"])]
    expected, _ = Evaluator(program).select(pa.record_batch(texts, ["s", "t"]))
    coded = [text.dictionary_encode(null_encoding="encode") for text in texts]
    batch = pa.RecordBatch.from_arrays(coded, ["s", "t"])
    computed = Evaluator(program).begin(batch)
    results = computed.results(encoded=True, encoded_lists=True)
    assert list(map(is_encoded, results)) == [some == 4, some == 4, False, False]
    assert [decoded(column) for column in results] == expected
    assert not any(map(is_encoded, computed.results(1, 2, encoded=True))), "lists are not"


@pytest.mark.parametrize("some", [4, 40_000], ids=["few", "many"])
def test_strings_that_are_chosen_are_encoded(some: int) -> None:
    s, t = (AttributeReference(name=name, type_=STRING) for name in "st")
    n = AttributeReference(name="n", type_=INT)
    large, none = _call(">", n, lit(50)), Literal(value=None, type_=STRING)
    given = [
        CaseWhen(conditions=(large, _call("isnull", t)), values=(s, lit("1")), otherwise=t),
        CaseWhen(
            conditions=(large, _call("<", n, lit(9))), values=(lit("é"), none), otherwise=lit("")
        ),
        _call("if", large, _call("upper", s), none),
        _call("coalesce", t, _call("if", large, s, none), lit("1")),
        _call("coalesce", lit("x"), t),
        _call("coalesce", _call("lower", s), none),
    ]
    program = compile_program(given, [n, s, t])
    assert program is not None and program.read_by_word >= {1, 2}
    own = np.random.default_rng(some)

    def drawn(words: list[str | None]) -> pa.Array:
        return pa.array(words).take(pa.array(own.integers(0, len(words), 150_000)))

    numbers = pa.array(
        own.integers(0, 99, 150_000).astype(np.int32), mask=own.random(150_000) < 0.1
    )
    texts = [drawn([None, "", "1", *map(str, range(some))]), drawn(["1", None, "a  b", "2"])]
    expected = Evaluator(program).evaluate(pa.record_batch([numbers, *texts], ["n", "s", "t"]))
    coded = [text.dictionary_encode(null_encoding="encode") for text in texts]
    batch = pa.RecordBatch.from_arrays([numbers, *coded], ["n", "s", "t"])
    results = Evaluator(program).begin(batch).results(encoded=True)
    few = some == 4
    assert list(map(is_encoded, results)) == [few, True, few, few, False, few]
    assert [decoded(column) for column in results] == expected
    for column in filter(is_encoded, results):
        assert not column.indices.null_count
        assert len(column.dictionary) == len(column.dictionary.unique())


def test_words_that_fail_do_so_where_a_row_has_them() -> None:
    s, n = AttributeReference(name="s", type_=STRING), AttributeReference(name="n", type_=INT)
    second = _call("element_at", _call("split", s, lit(","), lit(-1)), lit(2))
    program = compile_program([second], [n, s], [_call("<", n, lit(100_000))])
    assert program is not None and program.steps[program.results[0]].raises
    words = pa.array(["a,b", "c,b", None] * 40_000 + ["d"])
    for last in (100_000, 0):
        numbers = np.arange(len(words))
        numbers[-1] = last
        batch = [pa.array(numbers, pa.int32()), words.dictionary_encode(null_encoding="encode")]
        begun = Evaluator(program).begin(pa.RecordBatch.from_arrays(batch, ["n", "s"]))
        if last:
            (found,) = begun.results(encoded=True)
            assert decoded(found).to_pylist() == (["b", "b", None] * 40_000)[:100_000]
        else:
            with pytest.raises(KernelError, match="INVALID_ARRAY_INDEX_IN_ELEMENT_AT"):
                begun.results(encoded=True)


def test_what_may_fail_is_chosen_row_by_row() -> None:
    # In the first of the parts that are computed one after the other no row asks for it.
    s, n = AttributeReference(name="s", type_=STRING), AttributeReference(name="n", type_=INT)
    second = _call("element_at", _call("split", s, lit(","), lit(-1)), lit(2))
    late = _call(">", n, lit(100_000))
    given = [
        _call("if", late, second, _call("upper", s)),
        _call("coalesce", _call("if", late, Literal(value=None, type_=STRING), s), second),
    ]
    program = compile_program(given, [n, s])
    assert program is not None
    words = pa.array(["d", "c", None] * 30_000 + ["a,b", None] * 30_000)
    numbers = pa.array(np.arange(len(words)) + np.where(np.arange(len(words)) < 90_000, 0, 20_000))
    batch = [numbers.cast(pa.int32()), words.dictionary_encode(null_encoding="encode")]
    found = Evaluator(program).evaluate(pa.RecordBatch.from_arrays(batch, ["n", "s"]))
    late_ones = ["b", None] * 30_000
    assert found[0].to_pylist() == ["D", "C", None] * 30_000 + late_ones
    assert found[1].to_pylist() == ["d", "c", None] * 30_000 + late_ones


def test_conditions_that_cannot_fail_are_asked_of_rows_that_have_not_passed() -> None:
    n, m = (AttributeReference(name=name, type_=INT) for name in "nm")
    small, even = _call("<", n, lit(900)), _call("=", _call("%", n, lit(2)), lit(0))
    fails = _call(">", _call("%", lit(7), _call("-", n, lit(950))), lit(-9))
    few = _call("<", n, lit(10))
    numbers = np.arange(200_000) % 1000
    batch = pa.record_batch(
        [pa.array(numbers, pa.int32()), pa.array(-numbers, pa.int32())], ["n", "m"]
    )
    for conditions, expected in (
        ([small, even], (numbers < 900) & (numbers % 2 == 0)),
        ([even, small, even, few], (numbers < 10) & (numbers % 2 == 0)),
        ([few, even], (numbers < 10) & (numbers % 2 == 0)),
        ([small, fails, even], (numbers < 900) & (numbers % 2 == 0)),
    ):
        program = compile_program([m], [n, m], conditions)
        assert program is not None
        (found,), kept = Evaluator(program).select(batch)
        assert (kept.to_numpy(zero_copy_only=False) == expected).all()
        assert (found.to_numpy() == -numbers[expected]).all()


@pytest.mark.parametrize("outer", [False, True])
@pytest.mark.parametrize("numbered", [False, True])
def test_elements_of_encoded_lists_are_encoded(numbered: bool, outer: bool) -> None:
    s, n = AttributeReference(name="s", type_=STRING), AttributeReference(name="n", type_=INT)
    program = compile_program([n, _call("split", s, lit(","), lit(-1))], [n, s])
    assert program is not None
    texts = pa.array(["a,b", "", None, "b,é,,a"] * 25_000)
    numbers = pa.array(np.arange(len(texts)), pa.int32())
    found = []
    for column in (texts, texts.dictionary_encode(null_encoding="encode")):
        batch = pa.RecordBatch.from_arrays([numbers, column], ["n", "s"])
        (rows,) = RowLists(Evaluator(program), numbered, outer).over([batch])
        found.append([decoded(one) for one in rows.columns])
        assert is_encoded(rows.column(rows.num_columns - 1)) == (is_encoded(column) and not outer)
    assert found[0] == found[1]
    assert len(found[0][0]) == (200_000 if outer else 175_000)


def test_binary_digits_are_counted_without_writing_them() -> None:
    number = AttributeReference(name="n", type_=LONG)
    digits = _call("bin", number)
    counted = compile_program([_call("length", digits)], [number])
    written = compile_program([digits], [number])
    assert counted is not None and written is not None
    powers = np.int64(1) << np.arange(63)
    ends = np.array([0, -1, -(2**63), 2**63 - 1])
    drawn = np.random.default_rng(4).integers(-(2**63), 2**63 - 1, 500)
    column = pa.array([None, *np.concatenate([powers, powers - 1, powers + 1, ends, drawn])])
    batch = pa.record_batch([column], ["n"])
    assert len(counted.steps) == 2, "the digits are not among them"
    (texts,), (lengths,) = Evaluator(written).evaluate(batch), Evaluator(counted).evaluate(batch)
    assert lengths == pc.utf8_length(texts)


def test_what_is_shared_is_computed_once() -> None:
    total = _call("+", A, B, ansi=False)
    program = compile_program([total, _call("*", total, total, ansi=False)], [A, B])
    assert program is not None
    assert [step.name for step in program.steps] == ["column", "column", "+", "*"]


def test_the_start_of_a_window_is_one_division() -> None:
    """As Spark's TimeWindowing writes it, with an offset and without; else it is a CASE."""
    size = lit(7)
    for offset, steps in ((0, ["column", "literal", "pmod"]), (2, ["column", "literal", "-"])):
        rest = _call("%", _call("-", A, lit(offset)), size)
        found = CaseWhen(
            conditions=(_call("<", rest, lit(0)),),
            values=(_call("+", rest, size),),
            otherwise=rest,
        )
        program = compile_program([found], [A])
        assert program is not None
        assert [step.name for step in program.steps][:3] == steps
        assert "case" not in [step.name for step in program.steps]
        values = [-(2**31) + 2, -8, -7, -1, 0, 1, 6, 2**31 - 1, None]
        expected = [None if value is None else (value - offset) % 7 for value in values]
        assert _results(found, values, values) == expected
    other = replace(found, values=(_call("+", rest, lit(8)),))
    program = compile_program([other], [A])
    assert program is not None and program.steps[-1].name == "case"


def test_functions_of_doubles_have_sparks_last_bit(session: SparkSession) -> None:
    """What a processor computes differs from it for some of a thousand values, or of ten."""
    random_ = np.random.default_rng(5)
    size = 20_000
    wide = random_.normal(0, 1, size) * 10.0 ** random_.integers(-8, 9, size)
    x = np.concatenate([random_.uniform(-1, 1, size), wide])
    y = random_.permutation(np.concatenate([random_.normal(0, 9, size), np.rint(wide / 50) / 2]))
    rows = pa.table({"x": x, "y": y})
    one, two = (AttributeReference(name=name, type_=DOUBLE) for name in ("x", "y"))
    names = ["acos", "asin", "atan", "cbrt", "cosh", "exp", "expm1", "ln", "log10", "log1p"]
    names += ["cos", "csc", "log2", "rint", "sec", "sin", "sinh", "tanh"]
    calls = [_call(name, one) for name in names]
    calls += [_call(name, one, two) for name in ("atan2", "log", "pow")]
    constants = [Literal(value=exponent, type_=DOUBLE) for exponent in (2.0, 0.5, -1.0, 3.0)]
    calls += [_call("pow", one, exponent) for exponent in constants]
    program = compile_program(calls, [one, two])
    assert program is not None
    here = Evaluator(program).evaluate(rows.combine_chunks().to_batches()[0])
    texts = [spark_sql(call, lambda column: column.name) for call in calls]
    theirs = session.createDataFrame(rows).selectExpr(*texts).toArrow()
    for text, found, expected in zip(texts, here, theirs.columns, strict=True):
        bits = [column.to_numpy(zero_copy_only=False) for column in (found, expected)]
        assert np.array_equal(*bits, equal_nan=True), text


def test_a_decimal_zero_changes_the_type_of_a_sum() -> None:
    price = AttributeReference(name="p", type_=DecimalType(10, 2))
    nothing = Literal(value=Decimal(0), type_=DecimalType(5, 3))
    program = compile_program([_call("+", price, nothing)], [price])
    assert program is not None
    batch = pa.record_batch([pa.array([Decimal("1.25")], pa.decimal128(10, 2))], ["p"])
    assert Evaluator(program).evaluate(batch)[0].type == pa.decimal128(12, 3)


def test_gaps_of_less_than_a_day_are_day_time_intervals() -> None:
    """A day of the calendar may have 23 hours, an interval's microseconds never mean days."""

    def gap(*values: tuple[int, int, int] | None) -> Expression:
        parts = [Literal(value=value, type_=CalendarIntervalType()) for value in values]
        return CaseWhen(
            conditions=tuple(_call("=", A, lit(i)) for i, _ in enumerate(parts[1:])),
            values=tuple(parts[1:]),
            otherwise=parts[0],
        )

    seconds = gap((0, 0, 5_000_000), (0, 0, 2_000_000), None)
    time = AttributeReference(name="t", type_=TIMESTAMP)
    program = compile_program([_call("timestamp_add_interval", time, seconds)], [time, A])
    assert program is not None
    times = pa.array([0, 0, 0, None], pa.timestamp("us", "UTC"))
    batch = pa.record_batch([times, pa.array([0, 1, 2, 0], pa.int32())], ["t", "a"])
    found = Evaluator(program).evaluate(batch)[0].view(pa.int64()).to_pylist()
    assert found == [2_000_000, None, 5_000_000, None]
    for other in ((1, 0, 0), (0, 1, 0), (0, 0, 86_400_000_000)):
        mixed = gap((0, 0, 5_000_000), other)
        assert in_day_time(mixed, "America/New_York") is mixed
        if other[0]:
            assert in_day_time(mixed, "UTC") is mixed
        else:
            assert isinstance(in_day_time(mixed, "+02:00").data_type, DayTimeIntervalType)


def test_intervals_cast_from_texts_are_day_time_intervals() -> None:
    """A text that is no interval is null, under ANSI mode too: what a live Spark gave."""
    expected = {
        "5 seconds": 5_000_000,
        " INTERVAL 1 hour -3 minutes ": 3_420_000_000,
        "2.5 SECONDS": 2_500_000,
        "3 milliseconds": 3_000,
        "1 week": 604_800_000_000,
        **dict.fromkeys(["", "x", "5", "5 sec", "INTERVAL '5' SECOND", "99999999999999 hours"]),
        "٣ seconds": None,
    }
    text = AttributeReference(name="g", type_=STRING)
    time = AttributeReference(name="t", type_=TIMESTAMP)

    def moved(texts: Iterable[str | None], zone: str = "UTC") -> list[int | None]:
        gap = Cast(child=text, type_=CalendarIntervalType())
        later = replace(_call("timestamp_add_interval", time, gap), time_zone=zone)
        program = compile_program([later], [time, text])
        assert program is not None
        gaps = pa.array(texts, pa.string())
        batch = pa.record_batch(
            [pa.array([0] * len(gaps), pa.timestamp("us", "UTC")), gaps], ["t", "g"]
        )
        found: list[int | None] = Evaluator(program).evaluate(batch)[0].view(pa.int64()).to_pylist()
        return found

    assert moved([*expected, None]) == [*expected.values(), None]
    with pytest.raises(KernelError, match="The interval '2 months' of a row has months"):
        moved(["2 months"])
    assert moved(["23 hours"], "Europe/Paris") == [82_800_000_000]
    with pytest.raises(KernelError, match="The interval '1 day' of a row has days"):
        moved(["1 day"], "Europe/Paris")


def test_intervals_made_of_times_alone_are_day_time_intervals() -> None:
    """Where days have 24 hours: there 25 hours are a day and an hour."""
    seconds = Cast(child=A, type_=DecimalType(18, 6), mode="ANSI")
    time = AttributeReference(name="t", type_=TIMESTAMP)
    gap = _call("make_interval", *[lit(0)] * 4, A, lit(1), seconds)
    moved = replace(_call("timestamp_add_interval", time, gap), time_zone="UTC")
    program = compile_program([moved], [time, A])
    assert program is not None
    times = pa.array([0, 0, 0], pa.timestamp("us", "UTC"))
    batch = pa.record_batch([times, pa.array([25, -1, None], pa.int32())], ["t", "a"])
    found = Evaluator(program).evaluate(batch)[0].view(pa.int64()).to_pylist()
    assert found == [90_085_000_000, -3_541_000_000, None]
    assert in_day_time(gap, "Europe/London") is gap
    dated = replace(gap, arguments=(lit(1), *gap.arguments[1:]))
    assert in_day_time(dated, "UTC") is dated
    nothing = Literal(value=Decimal(0), type_=DecimalType(18, 6))
    days = _call("make_interval", *[lit(0)] * 3, A, lit(0), lit(0), nothing)
    before = _call("negative", days)
    for of_days in (days, before):  # of the calendar, whatever their length
        found_type = in_day_time(of_days, "Europe/London").data_type
        assert isinstance(found_type, DayTimeIntervalType)


def test_what_only_spark_computes_is_named() -> None:
    text = Cast(child=A, type_=STRING)
    assert unsupported(_call("soundex", text), [A]) == "function soundex"
    assert unsupported(_call("rlike", text, lit("(?>a)")), [A]) == "rlike(string, string)"
    assert unsupported(Cast(child=text, type_=TIMESTAMP), [A]) == "cast of string to timestamp"
    assert unsupported(B, [A]) == "column b"
    assert unsupported(_call("+", A, lit(1)), [A]) is None


def test_a_program_is_small_and_needs_no_planner() -> None:
    program = compile_program([_call("+", A, B)], [A, B])
    packed = pickle.dumps(program)
    assert len(packed) < 1000
    assert b"planner" not in packed


def test_to_ask_needs_neither_arrow_nor_numpy() -> None:
    module = "stateplan.runtime.kernels.expressions.programs.compile"
    code = f"import {module}, sys; print(sorted(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "'stateplan.planner.model.expressions.core'" in found.stdout
    assert "'pyarrow'" not in found.stdout
    assert "'numpy'" not in found.stdout
