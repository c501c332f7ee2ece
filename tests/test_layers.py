"""Imports point one way, module by module; heavy packages stay where they belong."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from networkx import DiGraph, strongly_connected_components

ROOT = Path(__file__).resolve().parent.parent
FLOORS = ("planner/model", "physical", "rules", "planner", "runtime")  # lowest first
# They reach what lies above only when asked to run something.
LAZY = (
    "planner/_stateplan/__init__.py",
    "planner/_stateplan/pytest_plugin.py",
    "planner/_stateplan/testing.py",
    "planner/cli.py",
    "planner/cli_explain.py",
    "planner/cli_state.py",
    "planner/described_sources.py",
    "planner/explaining.py",
    "planner/query.py",
)
RUNTIME_ONLY = ("pyspark", "pyarrow", "numpy", "pandas", "grpc", "google")
CLIENT_CODE = "planner/connect/"  # answers PySpark's client: nobody imports it before that is asked
WORKER_CODE = ("runtime/kernels", "runtime/state")
# Gives the user's own functions PySpark's classes, as its workers do.
USERS_CODE = "runtime/kernels/user_state/"
# The same among rules: analysis folds constants with the optimizer's rules, never the other way.
WITHIN_RULES = {
    "rules/common": (),
    "rules/optimization": ("rules/common",),
    "rules/optimization/support": ("rules/common",),
    "rules/optimization/expressions": ("rules/common", "rules/optimization/support"),
    "rules/analysis": ("rules/common", "rules/optimization"),
    "rules/support": ("rules/common", "rules/analysis"),
}
# Floors within runtime: what the modules of a folder may import of runtime besides their own. The
# plan asks the kernels which expressions they compute, and knows of no engine; engines and what
# feeds them know nothing of the loop.
WITHIN_RUNTIME = {
    "runtime/state": (),
    "runtime/kernels": ("runtime/state",),
    "runtime/kernels/columns": ("runtime/state/sorting",),
    "runtime/kernels/hashes": ("runtime/state/rows", "runtime/kernels/columns"),
    "runtime/kernels/sketches": (
        *("runtime/kernels/columns", "runtime/kernels/hashes", "runtime/kernels/errors"),
        "runtime/state/sorting",
    ),
    "runtime/kernels/aggregates": (
        *("runtime/state", "runtime/kernels/columns", "runtime/kernels/hashes"),
        *("runtime/kernels/sketches", "runtime/kernels/errors", "runtime/kernels/grouping"),
        "runtime/kernels/kernel",
    ),
    "runtime/kernels/joins": (
        *("runtime/state", "runtime/kernels/expressions"),
        *("runtime/kernels/grouping", "runtime/kernels/kernel"),
    ),
    "runtime/kernels/scans": (
        *("runtime/state", "runtime/kernels/columns", "runtime/kernels/hashes"),
        *("runtime/kernels/expressions", "runtime/kernels/aggregates", "runtime/kernels/joins"),
        *("runtime/kernels/errors", "runtime/kernels/kernel", "runtime/kernels/windows"),
        "runtime/kernels/file_parts",
    ),
    "runtime/kernels/json": (
        *("runtime/kernels/columns", "runtime/kernels/expressions/values"),
        *("runtime/kernels/expressions/programs", "runtime/kernels/expressions/conversions"),
        *("runtime/kernels/errors", "runtime/kernels/readers/line_files"),
        *("runtime/kernels/file_parts", "runtime/state/rows"),
    ),
    "runtime/kernels/readers": (
        *("runtime/kernels/expressions", "runtime/kernels/json", "runtime/kernels/scans"),
        *("runtime/kernels/errors", "runtime/kernels/file_parts", "runtime/state/rows"),
    ),
    "runtime/plan": ("runtime/kernels/expressions/programs",),
    "runtime/engines": (
        *("runtime/state", "runtime/kernels", "runtime/plan", "runtime/sources"),
        *("runtime/arrow_types", "runtime/checkpoint", "runtime/failures", "runtime/frames"),
        "runtime/protocol",
    ),
}
# The folders of the expressions' kernels, lowest first; what lies beside them is above them all.
EXPRESSIONS = "runtime/kernels/expressions"
EXPRESSION_FLOORS = ("programs", "values", "numbers", "texts", "times", "nested", "conversions")
FLOORS_WITHIN = WITHIN_RULES | WITHIN_RUNTIME
MODULES = sorted(
    path.relative_to(ROOT).as_posix()
    for folder in ("planner", "physical", "rules", "runtime")
    for path in (ROOT / folder).rglob("*.py")
)


def floor_of(module: str) -> int:
    """The index of a file's floor; `planner` is what lies in it outside `planner/model`."""
    return next(i for i, floor in enumerate(FLOORS) if module.startswith(f"{floor}/"))


def imports(module: str, *, lazy: bool, names: bool = False) -> tuple[str, ...]:
    """What a file imports: `pyspark.sql`, or for our own a path such as `physical/plan`.

    With `lazy`, what functions import when they are called counts too; what only type checkers
    import never does. With `names`, `from a import b` is `a/b` as well, in case b is a module.
    """
    return tuple(
        path
        for path, in_function, is_name in _imports(module)
        if (lazy or not in_function) and (names or not is_name)
    )


@cache
def _imports(module: str) -> tuple[tuple[str, bool, bool], ...]:
    """All imports; for each whether a function has it, and whether it is a name of a module's."""
    found = []
    tree = ast.parse((ROOT / module).read_text(encoding="utf-8"))
    pending: list[tuple[ast.AST, bool]] = [(tree, False)]
    while pending:
        node, inside = pending.pop()
        if isinstance(node, ast.expr):
            continue
        inside = inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            pending.extend((child, inside) for child in node.orelse)
            continue
        if isinstance(node, ast.Import):
            found += [(alias.name, inside, False) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            for path in _from(module, node):
                found.append((path, inside, False))
                found += [(f"{path}/{alias.name}", inside, True) for alias in node.names]
        pending.extend((child, inside) for child in ast.iter_child_nodes(node))
    return tuple(found)


def _from(module: str, node: ast.ImportFrom) -> Iterator[str]:
    name = node.module or ""
    if node.level == 0:
        if name.split(".")[0] != "stateplan":
            yield name
            return
        inner = name.split(".")[1:]
        package = inner or ["planner", "_stateplan"]
    else:
        parts = module.split("/")[: -node.level]
        package = [*parts, *name.split(".")] if name else parts
    path = "/".join(package)
    yield from (f"{path}/{alias.name}" if not name else path for alias in node.names)


def ours(imported: str) -> bool:
    return any(imported == floor or imported.startswith(f"{floor}/") for floor in FLOORS)


@pytest.mark.parametrize("module", MODULES)
def test_imports_never_point_upwards(module: str) -> None:
    lazily_upwards = module not in LAZY
    for imported in imports(module, lazy=lazily_upwards):
        if ours(imported):
            assert floor_of(f"{imported}/") <= floor_of(module), f"{module} imports {imported}"


@pytest.mark.parametrize(
    "module", [m for m in MODULES if not m.startswith(("runtime/", CLIENT_CODE))]
)
def test_only_runtime_imports_spark_and_arrow(module: str) -> None:
    lazy = module not in LAZY
    found = {name.split(".")[0] for name in imports(module, lazy=lazy)}
    assert not found & set(RUNTIME_ONLY)
    assert not any(f"{name}/".startswith(CLIENT_CODE) for name in imports(module, lazy=False))


@pytest.mark.parametrize("module", [m for m in MODULES if m.startswith(WORKER_CODE)])
def test_worker_code_needs_no_pyspark(module: str) -> None:
    lazy = not module.startswith(USERS_CODE) or module.endswith("/__init__.py")
    own = module == f"{USERS_CODE}handle.py"  # which is imported where a processor runs
    assert own or "pyspark" not in {n.split(".")[0] for n in imports(module, lazy=lazy)}


def floor_within(module: str) -> str | None:
    """The lowest folder of FLOORS_WITHIN that a file is in."""
    return max((f for f in FLOORS_WITHIN if module.startswith(f"{f}/")), key=len, default=None)


@pytest.mark.parametrize("module", [m for m in MODULES if floor_within(m)])
def test_imports_within_rules_and_runtime_never_point_upwards(module: str) -> None:
    folder = floor_within(module)
    assert folder
    allowed = tuple(f"{name}/" for name in (folder, *FLOORS_WITHIN[folder]))
    for imported in imports(module, lazy=True):
        if imported.split("/")[0] == folder.split("/")[0]:
            assert f"{imported}/".startswith(allowed), f"{module} imports {imported}"


@pytest.mark.parametrize("floor", EXPRESSION_FLOORS)
def test_imports_within_expressions_never_point_upwards(floor: str) -> None:
    lower = EXPRESSION_FLOORS[: EXPRESSION_FLOORS.index(floor) + 1]
    allowed = tuple(f"{EXPRESSIONS}/{name}/" for name in lower)
    modules = [m for m in MODULES if m.startswith(f"{EXPRESSIONS}/{floor}/")]
    assert len(modules) > 2
    for module in modules:
        for imported in imports(module, lazy=True):
            if imported.startswith(EXPRESSIONS):
                assert f"{imported}/".startswith(allowed), f"{module} imports {imported}"


def test_no_modules_import_each_other() -> None:
    paths = {path.removesuffix(".py").removesuffix("/__init__"): path for path in MODULES}
    graph: DiGraph[str] = DiGraph()
    for module in MODULES:
        for imported in imports(module, lazy=True, names=True):
            if imported in paths and paths[imported] != module:
                graph.add_edge(module, paths[imported])
    assert graph.number_of_edges() > len(MODULES)
    assert [sorted(c) for c in strongly_connected_components(graph) if len(c) > 1] == []


def test_the_runtime_plan_needs_neither_spark_nor_arrow() -> None:
    code = f"import sys, stateplan.runtime.plan; print(*set(sys.modules) & set({RUNTIME_ONLY}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_the_process_of_a_script_has_no_planner() -> None:
    module = "stateplan.planner.connect.script.launch"
    code = f"import sys, {module}; print(*(m for m in sys.modules if m.startswith('stateplan.')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert module in done.stdout.split()
    planning = ("stateplan.rules", "stateplan.physical", "stateplan.planner.strategies")
    assert [m for m in done.stdout.split() if m.startswith(planning)] == []


def test_the_check_sees_an_upward_import() -> None:
    found = list(imports("physical/explain/tree.py", lazy=True))
    assert "physical/plan" in found
    assert floor_of("runtime/x.py") > floor_of("planner/cli.py") > floor_of("rules/x.py")
