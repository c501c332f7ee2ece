"""What a Python function does, read from its pickle without running any of it.

A function travels to Spark as a pickle of its code (cloudpickle's). Two pickles of one function
differ in file names and line numbers; what is compared here leaves them out.
"""

from __future__ import annotations

import dis
import io
import pickle
import types
from collections.abc import Hashable, Iterator
from types import MappingProxyType
from typing import Any

from ..model.expressions.python_functions import PythonUDF

# What cloudpickle calls to make a code object: the type, asked for by its name.
_CODE = "('CodeType',)"
# What it calls to make a class of the user's, with a number that it has in one process alone.
_CLASSES = ("._make_skeleton_class", "._make_skeleton_enum")
_MOST = 50_000
_SHOW_VARIABLES = ("locals", "vars", "eval", "exec", "dir")
_DOCUMENTATION = {"__doc__", "getdoc", "help"}
_HAS_DOCSTRING = 0x4000000  # a flag since Python 3.13
_PLACES = ("__file__", "__module__", "__doc__", "__qualname__", "__firstlineno__")


def code_of(function: PythonUDF) -> Hashable:
    """A hashable stand-in for the function: equal for functions of the same code and closure."""
    return (function.function_name, _sent(function.options))


def mentions(function: PythonUDF, name: str) -> bool:
    """Whether a name is in the code that travels with a function; modules it imports do not."""
    return any(name.encode() in sent for sent in _pickles(function.options))


def _pickles(value: object) -> Iterator[bytes]:
    if isinstance(value, tuple):
        for one in value:
            yield from _pickles(one)
    elif isinstance(value, bytes):
        yield value


def pickled(function: PythonUDF) -> Iterator[Any]:
    """What the pickles of a function hold, as far as they can be read."""
    for data in _pickles(function.options):
        try:
            yield _Reader(io.BytesIO(data)).load()
        except Exception:  # a pickle of another kind
            continue


def is_code(value: object) -> bool:
    """Whether what a pickle makes is a code object; its arguments are then the constructor's."""
    return isinstance(value, Pickled) and value.name.endswith(_CODE)


def _sent(value: object) -> Hashable:
    if isinstance(value, tuple):
        return tuple(map(_sent, value))
    return _described(value) if isinstance(value, bytes) else repr(value)


def _described(data: bytes) -> Hashable:
    try:
        tree = _Reader(io.BytesIO(data)).load()
        return _Plain(documented=any(map(_reads_documentation, _codes(tree, set())))).of(tree)
    except Exception:  # a pickle of another kind: its bytes are all there is to compare
        return data


class Pickled:
    """What a pickle asks to be made of a global, of which there is a subclass for each.

    Its arguments and its state are kept; nothing is called.
    """

    name = ""
    by_value = False

    def __new__(cls, *arguments: Any, **named: Any) -> Any:
        if cls.name.endswith(_CLASSES) and not cls.by_value:
            return _class_by_value(cls.name, arguments)
        instance = object.__new__(cls)
        instance.arguments = (*arguments, *sorted(named.items()))
        instance.state = []
        if cls.name.endswith("_setstate") and arguments and is_made(arguments[0]):
            arguments[0].state.append(arguments[1:])
        return instance

    arguments: tuple[Any, ...]
    state: list[Any]

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """A global that makes another one: `_builtin_type('CodeType')`."""
        return _global(f"{self.name}{self.arguments}")(*arguments, **named)

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


def _global(name: str) -> type[Pickled]:
    return type("_Global", (Pickled,), {"name": name})


def _class_by_value(name: str, arguments: tuple[Any, ...]) -> type[Pickled]:
    """A class that is in the pickle itself: there may be instances of it.

    Its kind, name, bases, and what it is made with count, the number of it does not.
    """
    kept = (*arguments[:-2], *arguments[-1:])
    content = {"by_value": True, "arguments": kept, "state": [], "__setstate__": _State()}
    return type("_Class", (Pickled,), {"name": name, **content})


class _State:
    """The `__setstate__` of a class and of its instances: the state of either is kept."""

    def __get__(self, instance: Pickled | None, owner: type[Pickled]) -> Any:
        return (owner if instance is None else instance).state.append


def is_made(value: object) -> bool:
    """Whether a pickle makes it of a global, or it is that global."""
    return isinstance(value, Pickled) or (isinstance(value, type) and issubclass(value, Pickled))


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        return _global(f"{module}.{name}")

    def persistent_load(self, pid: Any) -> Any:
        return _global("persistent")(pid)


def _codes(value: Any, seen: set[int]) -> Iterator[Pickled]:
    """The code objects in a pickle."""
    if not isinstance(value, tuple):  # those that are made here give their ids to others
        if id(value) in seen:
            return
        seen.add(id(value))
    if is_code(value):
        yield value
    if isinstance(value, Pickled):
        yield from _codes((type(value), value.arguments, value.state), seen)
    elif isinstance(value, type) and getattr(value, "by_value", False):
        yield from _codes((value.arguments, value.state), seen)  # type: ignore[attr-defined]
    elif isinstance(value, tuple | list | set | frozenset):
        for part in value:
            yield from _codes(part, seen)
    elif isinstance(value, dict | MappingProxyType):
        yield from _codes((*value, *value.values()), seen)


class _Plain:
    """Read pickles as nested tuples.

    `documented`: whether code in it reads docstrings, which count for nothing otherwise.
    """

    def __init__(self, *, documented: bool) -> None:
        self._documented = documented
        self._seen: dict[int, int] = {}

    def of(self, value: Any) -> Hashable:
        """A value of a pickle; what refers to itself is named by its number."""
        if value is None or isinstance(value, bool | int | float | str | bytes | complex):
            return (type(value).__name__, value)
        if isinstance(value, type) and issubclass(value, Pickled) and not value.by_value:
            return ("global", value.name)
        if isinstance(value, tuple):  # whether two equal ones are one object means nothing
            return ("tuple", *map(self.of, value))
        if id(value) in self._seen:
            return ("again", self._seen[id(value)])
        self._seen[id(value)] = len(self._seen)
        if len(self._seen) > _MOST:
            raise ValueError("too large")
        if is_made(value):
            return self._made(value)
        match value:
            case dict() | MappingProxyType():
                pairs = ((self.of(k), self.of(v)) for k, v in value.items() if k not in _PLACES)
                return ("dict", tuple(sorted(pairs, key=repr)))
            case set() | frozenset():
                return ("set", tuple(sorted(map(self.of, value), key=repr)))
            case list():
                return ("list", *map(self.of, value))
            case _:
                return (type(value).__name__, repr(value))

    def _made(self, value: Any) -> Hashable:
        arguments = value.arguments
        if value.name.endswith(_CODE):
            if not self._documented:
                arguments = _without_documentation(arguments)
            arguments = _without_place(arguments)
        kind = self.of(type(value)) if getattr(type(value), "by_value", False) else value.name
        return (kind, tuple(map(self.of, arguments)), tuple(map(self.of, value.state)))


def _reads_documentation(code: Pickled) -> bool:
    """Whether code may read a docstring."""
    constants, names = code.arguments[7:9]
    return not _DOCUMENTATION.isdisjoint(str(one) for one in (*constants, *names))


def _without_documentation(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """A code object's arguments, its constants where it uses them: it uses no docstring.

    In the order of Python 3.11's constructor: 5 are its flags, 6 its instructions, 7 its constants.
    """
    try:
        code = types.CodeType(*arguments)
    except (TypeError, ValueError):  # of another version of Python
        return arguments
    steps = tuple(
        (one.opname, one.argval if one.opcode in dis.hasconst else one.arg)
        for one in dis.get_instructions(code)
    )
    return (*arguments[:5], arguments[5] & ~_HAS_DOCSTRING, steps, (), *arguments[8:])


def _without_place(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """A code object's arguments but for its file, its lines, and what its own variables are called.

    In the order of Python 3.11's constructor: 0 and 2 are the numbers of parameters, 8 the names
    that it uses, 9 its variables with the parameters first, 10 the file, 13 the first line, 14 the
    lines.
    """
    if len(arguments) < 16:
        return arguments
    kept = [a for i, a in enumerate(arguments) if i not in (9, 10, 13, 14)]
    shows = any(name in _SHOW_VARIABLES for name in arguments[8])
    own = None if shows else arguments[0] + arguments[2]
    return (*kept, arguments[9][:own])
