"""What is known of a function stands where it is registered: no list of names repeats a property.

Looked for in all modules but planner/model/functions: tuples, lists, sets, keys of dictionaries,
alternatives of a pattern and words of a text, three or more of which name functions. A rule that is
about one function or two by its nature (`and` beside `or`) holds no such list.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from stateplan.planner.model import registry
from stateplan.planner.model.schemas.ddl import parse_type

ROOT = Path(__file__).resolve().parent.parent
REGISTERED_IN = "planner/model/functions/"
LEAST = 3

# Words that name functions and, in a list, something else.
UNITS = "second minute hour day month year"
SIDES = "left right"
NESTED = "array map struct"  # types that parse_type knows with their parts alone
FORMULAS = "and or not"  # what every formula is made of: each has its own case
# Modules whose lists are about something else than what functions are.
EXCEPTIONS = {
    "planner/connect/relations.py": "kinds of the protocol's messages, some called as functions",
    "planner/connect/statistics.py": "what describe() and summary() compute",
    "planner/sql/tokens.py": "operators as signs, for the tokenizer",
    "planner/sql/expressions.py": "the grammar: operators by how tightly they bind",
    "runtime/native/buffers.py": "kernels that finish a buffer, by the buffer's form in Spark",
    "rules/optimization/expressions/replace_expressions.py": "which definition uses what twice",
    "rules/optimization/expressions/simplify.py": "which rewrite is of which functions",
    "runtime/inspection/summary.py": "the lines of a summary of numbers",
    "runtime/progress.py": "the names in Spark's progress reports",
    "runtime/plan/joins.py": "the forms in which analysis normalizes a floating-point key",
    "runtime/engines/rewrites_numbers.py": "code by function: how the engine's SQL says it",
    "runtime/engines/rewrites_times.py": "code by function: how the engine's SQL says it",
}
# Folders of code by function, where a kernel computes what its table names.
EXCEPTED_FOLDERS = ("runtime/kernels/",)


def _is_type(word: str) -> bool:
    try:
        parse_type(word)
    except Exception:
        return False
    return True


@pytest.fixture(scope="module")
def names() -> frozenset[str]:
    other = {*UNITS.split(), *SIDES.split(), *FORMULAS.split(), *NESTED.split()}
    return frozenset(name for name in registry.names() if name not in other and not _is_type(name))


def _texts(parts: Iterable[ast.AST | None]) -> list[str]:
    return [p.value for p in parts if isinstance(p, ast.Constant) and isinstance(p.value, str)]


def _lists(tree: ast.AST) -> Iterator[tuple[int, list[str]]]:
    """The texts that stand together, with the line."""
    for node in ast.walk(tree):
        match node:
            case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
                yield node.lineno, _texts(parts)
            case ast.Dict(keys=keys):
                yield node.lineno, _texts(keys)
            case ast.MatchOr(patterns=patterns):
                values = [p.value for p in patterns if isinstance(p, ast.MatchValue)]
                yield node.lineno, _texts(values)
            case ast.Call(func=ast.Attribute(value=ast.Constant(value=str(text)), attr="split")):
                yield node.lineno, text.split()
            case ast.Call(func=ast.Name(), args=[ast.Constant(value=str(text))]):
                yield node.lineno, text.split()


def function_lists(source: str, names: frozenset[str]) -> list[str]:
    """The lists of functions in a module, each as `line: names`."""
    return [
        f"{line}: {' '.join(found)}"
        for line, texts in _lists(ast.parse(source))
        if len(found := [text for text in texts if text in names]) >= LEAST
    ]


def _modules() -> Iterator[str]:
    for folder in ("planner", "rules", "physical", "runtime"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            if not name.startswith((REGISTERED_IN, *EXCEPTED_FOLDERS)):
                yield name


def test_no_list_of_functions_elsewhere(names: frozenset[str]) -> None:
    found = {
        module: lists
        for module in _modules()
        if (lists := function_lists((ROOT / module).read_text(), names))
    }
    elsewhere = {module: lists for module, lists in found.items() if module not in EXCEPTIONS}
    assert not elsewhere, "make it a field of FunctionSpec, set where the functions are registered"
    assert set(EXCEPTIONS) == set(found), "an exception that is none any more"


@pytest.mark.parametrize(
    "source",
    [
        'X = frozenset(("sum", "try_sum", "bit_and"))',
        'X = {"sum": 1, "try_sum": 2, "bit_and": 3}',
        'X = _words("sum try_sum bit_and")',
        'X = "sum try_sum bit_and".split()',
        'match name:\n    case "sum" | "try_sum" | "bit_and":\n        pass',
        'X = name in ["sum", "try_sum", "bit_and", "no function"]',
    ],
)
def test_finds_lists_of_functions(source: str, names: frozenset[str]) -> None:
    assert len(function_lists(source, names)) == 1


@pytest.mark.parametrize(
    "source",
    [
        'X = ("and", "or", "not")',
        'X = ("sum", "try_sum")',
        'X = ("int", "bigint", "string", "date")',
        'X = {"hour": 1, "minute": 2, "second": 3}',
    ],
)
def test_leaves_other_lists_alone(source: str, names: frozenset[str]) -> None:
    assert not function_lists(source, names)


def test_all_names_of_a_function_say_the_same() -> None:
    """What Spark takes for one function has one set of properties, whatever it is called."""
    marks = (
        *("kind", "null_intolerant", "null_for_null", "deterministic", "commutative"),
        *("associative", "pushed_into_branches", "duplicate_agnostic", "order_irrelevant"),
        *("state", "state_object", "used_at_the_end", "reads_clock", "short_circuits"),
        *("conditional", "over_no_rows", "predicate", "costly", "treats_alike"),
    )
    for name in registry.names():
        spec = registry.lookup(name)
        if spec.same_as is None:
            continue
        one = registry.lookup(spec.same_as)
        assert one.name == spec.same_as and one.same_as is None
        assert [getattr(spec, m) for m in marks] == [getattr(one, m) for m in marks], name
        assert (spec.evaluate is None) == (one.evaluate is None), name


def test_comparisons_are_mirrored_and_negated_both_ways() -> None:
    for name in registry.names():
        spec = registry.lookup(name)
        if spec.mirror is not None:
            assert registry.lookup(spec.mirror).mirror == spec.name
        if spec.negation is not None:
            assert registry.lookup(spec.negation).negation == spec.name
