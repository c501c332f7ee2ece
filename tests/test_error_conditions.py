"""The table of error conditions: Spark's templates to the letter, and the only place for them.

`python tests/derive_error_conditions.py` asks a live Spark for what the first test compares.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from stateplan.planner.model.catalog import Source
from stateplan.planner.model.conditions import conditions
from stateplan.planner.model.errors import AnalysisError, InternalError, StateplanError
from stateplan.planner.model.schemas.ddl import parse_schema
from stateplan.planner.model.settings.conf import Conf
from stateplan.planner.sql import parse
from stateplan.rules.analysis import analyze
from stateplan.rules.optimization import optimize

ROOT = Path(__file__).resolve().parent.parent
SPARK: dict[str, dict[str, object]] = json.loads(
    Path(__file__).with_name("spark_error_conditions.json").read_text(encoding="utf-8")
)
TABLE = conditions()
CASES = [name for name in TABLE if "." in name]
# How the table is raised: each takes the entry's name, or the case's behind a prefix.
PREFIXES = {
    "of": "",
    "failure": "",
    "_failure": "",
    "_error": "",
    "_message": "",
    "fragment_error": "",
    "refusal": "",
    "mismatch": "DATATYPE_MISMATCH.",
    "type_mismatch": "DATATYPE_MISMATCH.",
    "function_mismatch": "DATATYPE_MISMATCH.",
}
# Given by these functions themselves, or no parameters of a template.
# Spells what is no template of Spark's own table.
SPELLED = (
    "planner/model/conditions.py",
    "runtime/engines/embedded_errors.py",  # reads and writes any condition
    "runtime/engines/rewrites.py",  # the words are the user's
    "runtime/sources/delta",  # Delta's own table
    "runtime/sources/kafka_offsets.py",  # Kafka's own table
    "runtime/sinks/kafka.py",
    "runtime/inspection/rescale.py",  # without an option that is not here
)
OF_THE_CALL = {"hint", "origin", "subject", "tree"}
GIVEN = {
    "mismatch": {"sqlExpr"},
    "type_mismatch": {"sqlExpr"},
    "function_mismatch": {"sqlExpr", "functionName"},
}
# Ours, of a batch or a checkpoint, are told where they are raised; Spark's come from the table.
ERRORS = {"AnalysisError", "ArgumentError", "PlanningError", "StreamingCheckError"}
ERRORS |= {"DescriptionError", "SettingError", "NotPlanned", "RuntimeFailure", "KernelError"}


@cache
def modules() -> list[tuple[Path, ast.Module]]:
    return list(_parsed())


def _parsed() -> Iterator[tuple[Path, ast.Module]]:
    for folder in ("planner", "rules", "physical", "runtime"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield path.relative_to(ROOT), ast.parse(path.read_text(encoding="utf-8"))


def name_of(call: ast.Call) -> str:
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


@cache
def calls() -> list[tuple[Path, ast.Call, str]]:
    """Each call that names an entry, with the entry's name."""
    return list(_calls())


def _calls() -> Iterator[tuple[Path, ast.Call, str]]:
    for path, tree in modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and name_of(node) in PREFIXES:
                named = [a.value for a in node.args[:2] if isinstance(a, ast.Constant)]
                shown = [
                    n for n in named if isinstance(n, str) and re.fullmatch("_?[A-Z_0-9.]+", n)
                ]
                if shown:
                    yield path, node, PREFIXES[name_of(node)] + shown[0]


def test_spark_has_every_condition_that_is_not_our_own() -> None:
    ours = {name for name in TABLE if name.startswith("STATEPLAN_")}
    groups = {name.split(".")[0] for name in CASES}
    assert SPARK.keys() == TABLE.keys() - ours - groups


@pytest.mark.parametrize("name", SPARK)
def test_a_template_is_sparks(name: str) -> None:
    entry, spark = TABLE[name], SPARK[name]
    assert entry.template == spark["template"]
    assert entry.sql_state == spark["sql_state"]
    assert sorted(entry.parameters) == spark["parameters"]


def test_rules_raise_by_entries_that_there_are_with_their_parameters() -> None:
    wrong = []
    for path, call, name in calls():
        given = {k.arg.rstrip("_") for k in call.keywords if k.arg and k.arg not in OF_THE_CALL}
        wanted = TABLE[name].parameters if name in TABLE else None
        known = given | GIVEN.get(name_of(call), set())
        open_ended = any(k.arg is None for k in call.keywords)
        if wanted is None or not (known <= wanted if open_ended else known == wanted):
            wrong.append(f"{path}:{call.lineno}: {name} {sorted(given)}")
    assert len(calls()) > 200
    assert not wrong


def test_no_other_place_spells_a_condition_or_a_message() -> None:
    spelled = []
    for path, tree in modules():
        quiet = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                text = node.value
                if id(node) not in quiet and re.search(
                    r"SQLSTATE: |^\[(?!STATEPLAN_)_?[A-Z_0-9.]{5,}\] ", text
                ):
                    spelled.append(f"{path}:{node.lineno}: {text}")
            elif isinstance(node, ast.Call) and name_of(node) in ERRORS and node.args:
                first = node.args[0]
                own = path.parts[0] == "runtime" and "STATEPLAN_" in ast.unparse(first)
                if isinstance(first, ast.Constant) and first.value is not None and not own:
                    spelled.append(f"{path}:{node.lineno}: {first.value}")
    assert not [place for place in spelled if not place.startswith(SPELLED)]


def test_every_entry_is_raised_somewhere() -> None:
    texts = {
        node.value
        for _, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    idle = []
    for name in TABLE:
        group, _, case = name.partition(".")
        used = name in texts or any(n.startswith(f"{name}.") for n in TABLE)
        if case and f"{group}." in texts:
            used = used or case in texts or case.lower() in texts
        if not used:
            idle.append(name)
    assert not idle


def test_an_error_takes_just_the_templates_parameters() -> None:
    error = AnalysisError.of("AMBIGUOUS_LATERAL_COLUMN_ALIAS", name="`a`", n=2)
    assert error.condition == "AMBIGUOUS_LATERAL_COLUMN_ALIAS"
    assert error.message == (
        "[AMBIGUOUS_LATERAL_COLUMN_ALIAS] Lateral column alias `a` is ambiguous and has 2 matches."
        " SQLSTATE: 42702"
    )
    with pytest.raises(TypeError, match="takes"):
        AnalysisError.of("AMBIGUOUS_LATERAL_COLUMN_ALIAS", name="`a`")
    with pytest.raises(TypeError, match="takes"):
        AnalysisError.of("AMBIGUOUS_LATERAL_COLUMN_ALIAS", name="`a`", n=2, more=1)


def test_a_parameter_that_looks_like_one_is_not_filled_in() -> None:
    error = AnalysisError.of("AMBIGUOUS_LATERAL_COLUMN_ALIAS", name="<n>", n=2)
    assert "alias <n> is" in error.message


def test_hints_come_from_the_table_unless_the_place_knows_better() -> None:
    assert AnalysisError.of("GROUP_BY_POS_OUT_OF_RANGE", index=3, size=2).hint == (
        "Positions in GROUP BY count the select list from 1."
    )
    assert (
        AnalysisError.of("GROUP_BY_POS_OUT_OF_RANGE", hint="Own.", index=3, size=2).hint == "Own."
    )
    assert "report" in InternalError("a text").hint


REFUSED = Path(__file__).with_name("refused_queries.txt").read_text(encoding="utf-8").splitlines()
CATALOG = {
    name: Source(
        name=name,
        schema=parse_schema(
            "user STRING, ts TIMESTAMP, amount DOUBLE, qty INT, st STRUCT<a: INT, b: INT>"
        ),
        streaming=name == "events",
    )
    for name in ("b", "events")
}


def test_queries_are_refused_by_entries_of_the_table() -> None:
    """Each way to raise is taken, those too whose parameters no reading of the code can tell."""
    conf = Conf()
    seen = set()
    for query in REFUSED:
        with pytest.raises(StateplanError) as refused:
            optimize(analyze(parse(query, conf), CATALOG, conf), conf)
        seen.add(refused.value.condition)
        assert refused.value.condition in {None, *TABLE}, query
        assert refused.value.hint, query
    assert len(seen) > 130
