"""What a Python function does, read from its pickle without running any of it.

A function travels to Spark as a pickle of its code (cloudpickle's). Two pickles of one function
differ in file names and line numbers; what is compared here leaves them out.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Hashable
from types import MappingProxyType
from typing import Any

from ..model.python_functions import PythonUDF

# What cloudpickle calls to make a code object: the type, asked for by its name.
_CODE = "('CodeType',)"
_MOST = 50_000
_PLACES = ("__file__", "__module__", "__doc__", "__qualname__")


def code_of(function: PythonUDF) -> Hashable:
    """A hashable stand-in for the function: equal for functions of the same code and closure."""
    found: list[Hashable] = [function.function_name]
    for option in function.options:
        found.append(_described(option) if isinstance(option, bytes) else repr(option))
    return tuple(found)


def _described(data: bytes) -> Hashable:
    try:
        return _plain(_Reader(io.BytesIO(data)).load(), {})
    except Exception:  # a pickle of another kind: its bytes are all there is to compare
        return data


class _Made:
    """What a pickle asks to be made: a global's name, arguments, state. Nothing is called."""

    def __init__(self, name: str, arguments: tuple[Any, ...] = ()) -> None:
        self.name = name
        self.arguments = arguments
        self.state: list[Any] = []

    def __call__(self, *arguments: Any, **named: Any) -> _Made:
        if self.name.endswith("_setstate") and isinstance(arguments[0], _Made):
            arguments[0].state.append(arguments[1:])
        name = f"{self.name}{self.arguments}" if self.arguments else self.name
        return _Made(name, (*arguments, *sorted(named.items())))

    def __setstate__(self, state: Any) -> None:
        self.state.append(state)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.state.append((key, value))

    def append(self, value: Any) -> None:
        self.state.append(value)

    def extend(self, values: Any) -> None:
        self.state.extend(values)

    def add(self, value: Any) -> None:
        self.state.append(value)


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        return _Made(f"{module}.{name}")

    def persistent_load(self, pid: Any) -> Any:
        return _Made("persistent", (pid,))


def _plain(value: Any, seen: dict[int, int]) -> Hashable:
    """A read pickle as nested tuples; what refers to itself is named by its number."""
    if value is None or isinstance(value, bool | int | float | str | bytes | complex):
        return (type(value).__name__, value)
    if id(value) in seen:
        return ("again", seen[id(value)])
    seen[id(value)] = len(seen)
    if len(seen) > _MOST:
        raise ValueError("too large")
    match value:
        case _Made():
            arguments = value.arguments
            if value.name.endswith(_CODE):
                arguments = _without_place(arguments)
            return (
                value.name,
                tuple(_plain(a, seen) for a in arguments),
                tuple(_plain(s, seen) for s in value.state),
            )
        case dict() | MappingProxyType():
            pairs = (
                (_plain(k, seen), _plain(v, seen)) for k, v in value.items() if k not in _PLACES
            )
            return ("dict", tuple(sorted(pairs, key=repr)))
        case set() | frozenset():
            return ("set", tuple(sorted((_plain(v, seen) for v in value), key=repr)))
        case list() | tuple():
            return (type(value).__name__, tuple(_plain(v, seen) for v in value))
        case _:
            return (type(value).__name__, repr(value))


def _without_place(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """A code object's arguments but for its file, its first line and its table of lines.

    In the order of Python 3.11's constructor: 10 is the file, 13 the first line, 14 the lines.
    """
    if len(arguments) < 16:
        return arguments
    kept = [a for i, a in enumerate(arguments) if i not in (10, 13, 14)]
    return tuple(kept)
