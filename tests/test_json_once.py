"""A JSON text is parsed once, whatever a program asks of it."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from stateplan.runtime.kernels.errors import KernelError
from stateplan.runtime.kernels.expressions.evaluator import Evaluator
from stateplan.runtime.kernels.expressions.operations import OPERATIONS
from stateplan.runtime.kernels.expressions.programs.json_once import formats_of, json_once
from stateplan.runtime.kernels.expressions.programs.program import Kind, Observed, Program, Step

TEXTS = pa.record_batch(
    {
        "v": [
            '{"a": 1, "b": "x", "at": "2026-01-01 00:00:00"}',
            '{"a": 5, "b": "y"}',
            '{"a": 7, "b": 2.50}',
            "",
            None,
            '{"a": 9',
        ]
    }
)
TEXT = Step("column", (), "string", options=(0,))


def struct(*fields: tuple[str, Kind]) -> Kind:
    return ("struct", tuple(name for name, _ in fields), tuple(kind for _, kind in fields))


def read(kind: Kind, zone: str = "UTC") -> Step:
    return Step("from_json", (0,), kind, ("string",), zone=zone, raises=True)


def field(place: int, kind: Kind, ordinal: int) -> Step:
    own = kind[2][ordinal]
    assert isinstance(own, str)
    return Step("get_struct_field", (place,), own, (kind,), options=(ordinal,), raises=True)


A, B, AT = ("a", "int"), ("b", "string"), ("at", "timestamp")


def reading(program: Program) -> list[Step]:
    return [step for step in program.steps if step.name in ("from_json", "get_json_object")]


def same(program: Program) -> Program:
    """The program that reads less, which gives what the other one gives."""
    less = json_once(program)
    found = [column.to_pylist() for column in Evaluator(less).evaluate(TEXTS)]
    assert found == [column.to_pylist() for column in Evaluator(program).evaluate(TEXTS)]
    return less


def test_structs_of_one_text_are_one_of_the_fields_that_are_used() -> None:
    one, other = struct(A), struct(B, A, AT)
    steps = (
        TEXT,
        read(one),
        field(1, one, 0),
        Step("literal", (), "int", options=(2,)),
        Step(">", (2, 3), "boolean", ("int", "int"), raises=True),
        read(other, "Europe/Berlin"),
        field(5, other, 0),
        field(5, other, 1),
    )
    program = Program(steps, (4,), (6, 7), Observed(7, 1))
    less = same(program)
    (step,) = reading(less)
    assert step.kind == struct(A, B)  # nobody asks for `at`
    assert less.observed is not None and less.steps[less.observed.place].kind == "int"


def test_a_struct_that_is_wanted_itself_keeps_its_fields() -> None:
    whole, part = struct(B, AT), struct(A, B)
    steps = (TEXT, read(part), field(1, part, 1), read(whole, "UTC"), field(1, part, 0))
    (apart,) = reading(same(Program(steps[:4], (), (2, 3))))
    assert apart.kind == whole
    assert len(reading(same(Program(steps, (), (2, 3, 4))))) == 2


def test_fields_of_two_types_are_read_apart() -> None:
    one, other = struct(A), struct(("a", "string"))
    steps = (TEXT, read(one), field(1, one, 0), read(other), field(3, other, 0))
    assert len(reading(same(Program(steps, (), (2, 4))))) == 2


def test_times_in_two_formats_are_read_apart() -> None:
    day, clock = ("yyyy-MM-dd", None, None), ("yyyy-MM-dd HH:mm:ss", None, None)
    kind = struct(AT)
    formats = [replace(read(kind), options=(one,)) for one in (day, clock, clock)]
    steps = (TEXT, *formats, *(field(place, kind, 0) for place in (1, 2, 3)))
    less = same(Program(steps, (), (4, 5, 6)))
    assert [formats_of(step) for step in reading(less)] == [day, clock]


@pytest.mark.parametrize("paths", [("$.a", "$.b"), ("$.a", "$.b", "$.a"), ("$.b", "$.b.c")])
def test_paths_of_one_text_are_followed_at_once(paths: tuple[str, ...]) -> None:
    steps: list[Step] = [TEXT]
    for path in paths:
        steps.append(Step("literal", (), "string", options=(path,)))
        given = (0, len(steps) - 1)
        step = Step("get_json_object", given, "string", ("string", "string"), raises=True)
        steps.append(step)
    program = Program(tuple(steps), (), tuple(range(2, len(steps), 2)))
    assert len(reading(same(program))) == 1


def test_what_is_observed_is_computed_with_all_else(monkeypatch: pytest.MonkeyPatch) -> None:
    known, calls = OPERATIONS["from_json"], list[int]()

    def counted(step: Step, text: pa.Array) -> pa.Array:
        calls.append(len(text))
        return known(step, text)

    monkeypatch.setitem(OPERATIONS, "from_json", counted)
    kind = struct(A)
    steps = (
        TEXT,
        read(kind),
        field(1, kind, 0),
        Step("literal", (), "int", options=(2,)),
        Step(">", (2, 3), "boolean", ("int", "int"), raises=True),
        Step("literal", (), "int", options=(6,)),
        Step(">", (2, 5), "boolean", ("int", "int"), raises=True),
    )
    begun = Evaluator(json_once(Program(steps, (4, 6), (2,), Observed(2, 1)))).begin(TEXTS)
    assert [column.to_pylist() for column in begun.observed] == [[5, 7]]
    assert [column.to_pylist() for column in begun.results()] == [[7]]
    assert calls == [len(TEXTS)]


def test_values_of_a_map_of_strings_are_fields() -> None:
    kind: Kind = ("map", (), ("string", "string"))
    steps = [TEXT, read(kind)]
    for name, key in (("get_map_value", "a"), ("element_at", "b"), ("get_map_value", "c")):
        steps.append(Step("literal", (), "string", options=(key,)))
        given = (1, len(steps) - 1)
        steps.append(Step(name, given, "string", (kind, "string"), raises=True))
    (step,) = reading(same(Program(tuple(steps), (), (3, 5, 7))))
    assert step.kind == struct(("a", "string"), ("b", "string"), ("c", "string"))
    (apart,) = reading(same(Program(tuple(steps), (), (1, 3))))
    assert apart.kind == kind


def test_a_key_that_stands_twice_in_a_map_is_refused() -> None:
    kind: Kind = ("map", (), ("string", "string"))
    literal = Step("literal", (), "string", options=("a",))
    value = Step("get_map_value", (1, 2), "string", (kind, "string"), raises=True)
    program = json_once(Program((TEXT, read(kind), literal, value), (), (3,)))
    with pytest.raises(KernelError, match="stands twice"):
        Evaluator(program).evaluate(pa.record_batch({"v": ['{"a": 1, "a": 2}']}))


ODD_TIMES = [
    '{"type": "a", "at": "2026-01-01 10:00:00", "n": 1}',
    '{"type": "b", "at": "at 10:15", "n": 2}',
    '{"type": "a", "at": "2026-01-02", "n": 3}',
]


@pytest.mark.parametrize("kept", ["a", "b"])
def test_a_text_is_refused_only_where_what_is_not_known_is_asked_for(kept: str) -> None:
    kind = struct(("type", "string"), ("at", "timestamp"), ("n", "int"))
    steps = (
        TEXT,
        read(kind),
        field(1, kind, 0),
        Step("literal", (), "string", options=(kept,)),
        Step("=", (2, 3), "boolean", ("string", "string"), raises=True),
        field(1, kind, 1),
        field(1, kind, 2),
    )
    batch = pa.record_batch({"v": ODD_TIMES * 40})
    whole = Evaluator(json_once(Program(steps, (4,), (5, 6))))
    if kept == "b":
        with pytest.raises(KernelError, match="the timestamp 'at 10:15'"):
            whole.evaluate(batch)
    else:
        times, numbers = whole.evaluate(batch)
        assert times.null_count == 0
        assert numbers.to_pylist() == [1, 3] * 40
    (numbers,) = Evaluator(json_once(Program(steps, (4,), (6,)))).evaluate(batch)
    assert set(numbers.to_pylist()) == ({1, 3} if kept == "a" else {2})
