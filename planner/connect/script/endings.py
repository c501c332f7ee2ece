"""Whether code gives up where what it asks for is not there: then it is taken as being there."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator, Sequence
from itertools import islice
from types import FrameType

from .notebook import trees_of
from .uncalled import leads_directly

_Path = tuple[ast.AST, list[ast.AST]]  # a node and those above it
_EXITS = ("exit", "quit", "_exit", "abort")


def ends_without(frame: FrameType | None) -> bool:
    """Whether the user's code ends if the call that a frame is at answers False or None.

    It does where the answer is tested at once, or next under the name that it is given, and that
    branch raises or exits, or returns from a function that starts streams below; and where an
    attribute or an item of the answer is needed, at once or next: `re.search(a, b).group(1)`.
    """
    if frame is None:
        return False
    code = frame.f_code
    at = next(islice(code.co_positions(), frame.f_lasti // 2, None), None)
    return at is not None and at in _places(code.co_filename)


@functools.cache
def _places(file: str) -> frozenset[tuple[int | None, ...]]:
    """The calls of a file that are of that kind, by where they begin and end as bytecode says."""
    found = set()
    for tree in trees_of(file):
        for body, function in _bodies(tree):
            for number, statement in enumerate(body):
                for call in _asking(statement, body[number + 1 :], function):
                    begin = (call.lineno, call.end_lineno)
                    found.add((*begin, call.col_offset, call.end_col_offset))
    return frozenset(found)


def _bodies(tree: ast.AST) -> Iterator[tuple[list[ast.stmt], ast.AST | None]]:
    """Every list of statements with the function that it is in."""
    waiting: list[tuple[ast.AST, ast.AST | None]] = [(tree, None)]
    while waiting:
        node, function = waiting.pop()
        inner = node if isinstance(node, ast.FunctionDef) else function
        for _, field in ast.iter_fields(node):
            if isinstance(field, list) and field and isinstance(field[0], ast.stmt):
                yield field, inner
        waiting += ((child, inner) for child in ast.iter_child_nodes(node))


def _asking(
    statement: ast.stmt, below: Sequence[ast.stmt], function: ast.AST | None
) -> Iterator[ast.Call]:
    """The calls in a statement that the code needs another answer of than False or None."""
    for call, above in _calls(statement):
        if above and _takes_part_of(above[-1], call):
            yield call
    if isinstance(statement, ast.If | ast.Assert):
        for call, above in _calls(statement.test):
            if _ends(statement, above, function):
                yield call
    if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
        return
    name = statement.targets[0].id
    used = next((list(_of_name(one, name)) for one in below if any(_of_name(one, name))), [])
    if used and all(above and _takes_part_of(above[-1], node) for node, above in used):
        yield from (call for call, above in _calls(statement.value) if not above)
    tests = (one for one in below if isinstance(one, ast.If | ast.Assert))
    test = next((one for one in tests if any(_of_name(one.test, name))), None)
    if test is None:
        return
    _, above = next(_of_name(test.test, name))
    for call, within in _calls(statement.value):
        if _ends(test, [*within, *above], function):
            yield call


def _takes_part_of(above: ast.AST, node: ast.AST) -> bool:
    """Whether a node is one of `node.name`, or of `node[0]`."""
    return isinstance(above, ast.Attribute | ast.Subscript) and above.value is node


def _paths(node: ast.AST, above: tuple[ast.AST, ...] = ()) -> Iterator[_Path]:
    """All nodes below one, itself too, each with those above it."""
    yield node, list(above)
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.stmt | ast.Lambda):
            yield from _paths(child, (*above, node))


def _calls(node: ast.AST) -> Iterator[tuple[ast.Call, list[ast.AST]]]:
    return ((one, above) for one, above in _paths(node) if isinstance(one, ast.Call))


def _of_name(node: ast.AST, name: str) -> Iterator[_Path]:
    found = _paths(node)
    return ((one, above) for one, above in found if isinstance(one, ast.Name) and one.id == name)


def _ends(test: ast.If | ast.Assert, above: list[ast.AST], function: ast.AST | None) -> bool:
    """Whether a test ends the code if a value below the given nodes of it is False or None."""
    is_true = sum(map(_negates, above)) % 2 == 1
    if isinstance(test, ast.Assert):
        return not is_true
    return _gives_up(test.body if is_true else test.orelse, function)


def _negates(node: ast.AST) -> bool:
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Not)
    if not isinstance(node, ast.Compare) or not isinstance(node.ops[0], ast.Is | ast.Eq):
        return False
    other = node.comparators[0]
    return isinstance(other, ast.Constant) and not other.value


def _gives_up(body: Sequence[ast.stmt], function: ast.AST | None) -> bool:
    if not body:
        return False
    last = body[-1]
    if isinstance(last, ast.Return) and function is not None:
        bare = last.value is None or isinstance(last.value, ast.Constant)
        below = (one for one in ast.walk(function) if getattr(one, "lineno", 0) > last.lineno)
        return bare and any(map(leads_directly, below))
    if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call):
        called = last.value.func
        return getattr(called, "attr", getattr(called, "id", "")) in _EXITS
    return isinstance(last, ast.Raise)
