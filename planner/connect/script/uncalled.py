"""Which code of a file leads to streams or data sets: functions that nothing calls, and loops."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from ...model.frozen import dataclass
from .notebook import trees_of

STREAMS = ("readStream", "writeStream", "forEachBatch")
DATA_SETS = (
    *("table", "view", "materialized_view", "temporary_view", "append_flow", "apply_changes"),
    *("create_streaming_table", "create_auto_cdc_flow"),
)
_PIPELINES = ("dlt", "dp", "pipelines", "sdp")


@dataclass(frozen=True, kw_only=True)
class Uncalled:
    """Functions and methods (`Class.method`) by who may call them.

    Attributes:
        outermost: no other function of the file mentions them; they reach the others.
        direct: they themselves start or make a stream, or define a data set.
        loops: the lines of code that say what loops over, where these lead there.
    """

    outermost: tuple[str, ...] = ()
    direct: tuple[str, ...] = ()
    loops: frozenset[int] = frozenset()


def calls_into(path: Path, files: Iterable[Path]) -> bool:
    """Whether a file calls what it imports from some files, as soon as it runs."""
    modules = [file.with_suffix("").parts for file in files]

    def is_one(*parts: str) -> bool:
        return any(module[-len(parts) :] == parts for module in modules)

    trees = trees_of(str(path))
    imports = (
        node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)
    )
    names = set()
    for node in imports:
        above = tuple(part for part in (node.module or "").split(".") if part)
        names |= {
            alias.asname or alias.name
            for alias in node.names
            if (above and is_one(*above)) or is_one(*above, alias.name)
        }
    at_once = (
        node
        for tree in trees
        for statement in tree.body
        if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        for node in ast.walk(statement)
    )
    return any(
        isinstance(node, ast.Call) and _names(ast.walk(node.func)) & names for node in at_once
    )


def uncalled(path: str) -> Uncalled:
    """The functions of a file that lead to streams or data sets.

    A name that a function mentions counts as a call: which object it is of nobody knows here.
    """
    bodies: dict[str, set[str]] = {}
    direct: dict[str, None] = {}
    outside: set[str] = set()
    trees = trees_of(path)
    for name, nodes in (part for tree in trees for part in _functions(tree)):
        if not name:
            outside |= _names(nodes)
            continue
        bodies[name] = _names(nodes)
        if any(map(leads_directly, nodes)):
            direct.setdefault(name)
    reaching = dict(direct)
    while True:
        known = {name.rpartition(".")[2] for name in reaching}
        more = [name for name, names in bodies.items() if name not in reaching and names & known]
        if not more:
            break
        reaching.update(dict.fromkeys(more))
    mentioned = {
        name
        for name in reaching
        for other in reaching
        if other != name and name.rpartition(".")[2] in bodies[other]
    }
    known = {name.rpartition(".")[2] for name in reaching}
    loops = set(_loops(trees, known))
    plain = [name for name in bodies if name in reaching and not name.endswith(".__init__")]
    outermost = (n for n in plain if n not in mentioned and n.rpartition(".")[2] not in outside)
    return Uncalled(
        outermost=tuple(outermost),
        direct=tuple(name for name in plain if name in direct),
        loops=frozenset(loops),
    )


def _functions(code: ast.AST, owner: str = "") -> Iterator[tuple[str, list[ast.AST]]]:
    """Functions and methods with all nodes in them; under no name those of all other code."""
    for node in ast.iter_child_nodes(code):
        if isinstance(node, ast.ClassDef):
            yield from _functions(node, f"{node.name}.")
        elif isinstance(node, ast.FunctionDef):
            yield f"{owner}{node.name}", list(ast.walk(node))
        else:
            yield "", list(ast.walk(node))


def _names(nodes: Iterable[ast.AST]) -> set[str]:
    found = {node.id for node in nodes if isinstance(node, ast.Name)}
    return found | {node.attr for node in nodes if isinstance(node, ast.Attribute)}


def leads_directly(node: ast.AST) -> bool:
    """Whether a node of code names what starts or makes a stream, or defines a data set."""
    if not isinstance(node, ast.Attribute):
        return False
    of_pipeline = isinstance(node.value, ast.Name) and node.value.id in _PIPELINES
    return node.attr in STREAMS or (of_pipeline and node.attr in DATA_SETS)


def _filled(node: ast.AST) -> str:
    """The name of a list, set or dictionary that a node adds to; empty of any other node."""
    if isinstance(node, ast.Attribute) and node.attr in ("append", "add", "extend", "update"):
        return getattr(node.value, "id", "")
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
        return getattr(node.value, "id", "")
    return ""


def _loops(trees: Iterable[ast.AST], leading: set[str]) -> Iterator[int]:
    """Lines of what `for` runs over, where its body leads to streams, and of comprehensions.

    Loops that fill what these run over lead there, too. A comprehension that tests or calculates
    with what is not here could not be worked out.
    """
    nodes = [node for tree in trees for node in ast.walk(tree)]
    bodies = {
        node: [inner for one in node.body for inner in ast.walk(one)]
        for node in nodes
        if isinstance(node, ast.For)
    }
    direct = [
        node
        for node, body in bodies.items()
        if any(map(leads_directly, body)) or _names(body) & leading
    ]
    over = _names(inner for node in direct for inner in ast.walk(node.iter))
    filling = [node for node, body in bodies.items() if any(_filled(one) in over for one in body)]
    for loop in (*direct, *filling):
        yield from range(loop.lineno, (loop.iter.end_lineno or loop.lineno) + 1)
    for node in nodes:
        if isinstance(node, ast.ListComp | ast.DictComp):
            (first, *_), inner = node.generators, list(ast.walk(node))
            plain = not first.ifs and not any(isinstance(n, ast.BinOp | ast.Compare) for n in inner)
            if plain:
                yield from range(first.iter.lineno, (first.iter.end_lineno or 0) + 1)


def beyond_spark(path: str | Path) -> bool:
    """Whether a pipeline's file uses names or parameters that `pyspark.pipelines` has not."""
    nodes = []
    with suppress(SyntaxError):
        nodes = [node for tree in trees_of(str(path)) for node in ast.walk(tree)]
    imports = (node for node in nodes if isinstance(node, ast.ImportFrom | ast.Import))
    aliases = {
        one.asname or one.name
        for node in imports
        for one in node.names
        if f"{getattr(node, 'module', 'pyspark')}.{one.name}".endswith("pyspark.pipelines")
    }
    module = importlib.import_module("pyspark.pipelines") if aliases else None
    for node in nodes:
        called = node.func if isinstance(node, ast.Call) else node
        if not isinstance(called, ast.Attribute) or ast.unparse(called.value) not in aliases:
            continue
        function = getattr(module, called.attr, None)
        known = inspect.signature(function).parameters if callable(function) else {}
        named = {one.arg for one in node.keywords} if isinstance(node, ast.Call) else set()
        if function is None or named - known.keys() - {None}:
            return True
    return False
