"""What state variables a processor of `transformWithState` declares, without running any of it.

Its `init` is read as the interpreter's instructions for a stack, over the values that are known:
constants, attributes of the processor as it was pickled, PySpark's types. It gives up where `init`
branches, loops or hands its handle to other code: what a processor declares is then not known.
"""

from __future__ import annotations

import dis
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...physical.state import StateVariable, VariableKind
from ..model.errors import StateplanError
from ..model.expressions.python_functions import PythonUDF
from ..model.schemas.ddl import parse_schema
from ..model.schemas.schema_json import type_from_json
from ..model.schemas.types import StructType
from .python_code import Pickled, is_code, is_made, pickled

_KINDS: dict[str, VariableKind] = {
    "getValueState": "value",
    "getListState": "list",
    "getMapState": "map",
}
_PARAMETERS = {
    "value": ("stateName", "schema", "ttlDurationMs"),
    "list": ("stateName", "schema", "ttlDurationMs"),
    "map": ("stateName", "userKeySchema", "valueSchema", "ttlDurationMs"),
}
_TYPES = "pyspark.sql.types."
_FIELDS = {
    "StructType": ("fields",),
    "StructField": ("name", "dataType", "nullable"),
    "ArrayType": ("elementType", "containsNull"),
    "MapType": ("keyType", "valueType", "valueContainsNull"),
    "DecimalType": ("precision", "scale"),
}


class _NotKnownError(Exception):
    """What follows is known only by running it."""


class _Null:
    """What stands beside a function that is called, for a method's own object."""


class _Handle:
    """The handle that `init` is given."""


class _Unknown:
    """A value of which nothing is known."""


class _Self:
    """The processor."""


@dataclass(frozen=True)
class _Named:
    """A module, a class or a function by its full name, or a method of the handle."""

    name: str
    of: object = None


@dataclass(frozen=True)
class _TypeMade:
    """A type of PySpark's: its class, and what is known of it by attribute."""

    name: str
    parts: dict[str, Any]


def variables_of(function: PythonUDF) -> tuple[StateVariable, ...] | None:
    """The state variables that a processor declares; None: that is not known."""
    processor = next(_processors(function), None)
    if processor is None:
        return None
    try:
        code, names = _function(_attribute(processor, "init"))
        return tuple(_Init(processor, names).declared(code))
    except (_NotKnownError, StateplanError, LookupError, TypeError, ValueError, AttributeError):
        return None


def _processors(function: PythonUDF) -> Iterator[Pickled]:
    for tree in pickled(function):
        for part in tree if isinstance(tree, tuple) else (tree,):
            for argument in getattr(part, "arguments", ()):
                for state in getattr(argument, "state", ()):
                    if isinstance(state, dict) and "_stateful_processor" in state:
                        yield state["_stateful_processor"]


def _attribute(processor: Pickled, name: str) -> Any:
    """An attribute of the processor or of its classes, nearest first."""
    for state in processor.state:
        if isinstance(state, dict) and name in state:
            return state[name]
    classes: list[Any] = [type(processor)]
    while classes:
        one = classes.pop(0)
        for given in one.state:
            attributes = given[0][0] if isinstance(given, tuple) else {}
            if name in attributes:
                return attributes[name]
        bases = one.arguments[2] if getattr(one, "by_value", False) else ()
        classes += [base for base in bases if getattr(base, "by_value", False)]
    return _Unknown()


def _function(function: Any) -> tuple[types.CodeType, dict[str, Any]]:
    """A pickled function's code, and what its names outside of it stand for."""
    if not is_made(function) or not is_code(function.arguments[0]):
        raise _NotKnownError
    names: dict[str, Any] = dict(function.arguments[1])
    for (given,) in function.state:
        slots = given[1]
        names |= slots["__globals__"]
        cells = [cell.arguments[0] for cell in slots.get("__closure__") or ()]
        names |= dict(zip(function.arguments[0].arguments[-2], cells, strict=True))
    return types.CodeType(*function.arguments[0].arguments), names


class _Init:
    """One reading of an `init`."""

    def __init__(self, processor: Pickled, names: Mapping[str, Any]) -> None:
        self._processor, self._names = processor, names
        self._stack: list[Any] = []
        self._locals: dict[str, Any] = {}
        self._set: dict[str, Any] = {}
        self._keywords: tuple[str, ...] = ()
        self._found: dict[str, StateVariable] = {}

    def declared(self, code: types.CodeType) -> list[StateVariable]:
        """The variables, in order.

        Raises:
            _NotKnownError: they cannot be known.
        """
        this, handle = code.co_varnames[:2]
        self._locals |= {this: _Self(), handle: _Handle()}
        instructions = list(dis.get_instructions(code))
        for place, instruction in enumerate(instructions):
            step = getattr(self, f"_{instruction.opname.lower()}", None)
            if step is None:
                # From here on it may branch: nothing must be asked of the handle any more.
                rest = [one.argval for one in instructions[place:]]
                used = {n for one in rest for n in (one if isinstance(one, tuple) else (one,))}
                if any(map(_is_handle, self._stack)) or used & self._holding():
                    raise _NotKnownError
                break
            step(instruction)
        return list(self._found.values())

    def _holding(self) -> set[str]:
        """The variables through which the handle can be reached."""
        kept = any(map(_is_handle, self._set.values()))
        return {
            name
            for name, value in self._locals.items()
            if _is_handle(value) or (kept and isinstance(value, _Self))
        }

    # ------------------------------------------------------- instructions, of Python 3.11 to 3.14

    def _nothing(self, instruction: dis.Instruction) -> None:
        pass

    _resume = _nop = _cache = _precall = _make_cell = _copy_free_vars = _nothing

    def _load_const(self, instruction: dis.Instruction) -> None:
        self._stack.append(instruction.argval)

    _load_small_int = _load_const

    def _load_fast(self, instruction: dis.Instruction) -> None:
        names = instruction.argval
        for name in names if isinstance(names, tuple) else (names,):
            self._stack.append(self._locals[name] if name in self._locals else self._outer(name))

    _load_fast_check = _load_fast_borrow = _load_deref = _load_fast
    _load_fast_load_fast = _load_fast_borrow_load_fast_borrow = _load_fast

    def _store_fast(self, instruction: dis.Instruction) -> None:
        names = instruction.argval
        for name in names if isinstance(names, tuple) else (names,):
            self._locals[name] = self._stack.pop()

    _store_deref = _store_fast_store_fast = _store_fast

    def _store_fast_load_fast(self, instruction: dis.Instruction) -> None:
        stored, loaded = instruction.argval
        self._locals[stored] = self._stack.pop()
        self._stack.append(self._locals.get(loaded, _Unknown()))

    def _load_global(self, instruction: dis.Instruction) -> None:
        if instruction.arg is not None and instruction.arg & 1:
            self._stack.append(_Null())
        self._stack.append(self._outer(instruction.argval))

    def _push_null(self, instruction: dis.Instruction) -> None:
        self._stack.append(_Null())

    def _load_method(self, instruction: dis.Instruction) -> None:
        self._stack += [_Null(), self._part(self._stack.pop(), instruction.argval)]

    def _load_attr(self, instruction: dis.Instruction) -> None:
        value = self._part(self._stack.pop(), instruction.argval)
        # Since 3.12 it says of itself whether a method is loaded.
        method = "+ NULL|self" in instruction.argrepr
        self._stack += [_Null(), value] if method else [value]

    def _store_attr(self, instruction: dis.Instruction) -> None:
        target, value = self._stack.pop(), self._stack.pop()
        # A handle that is kept declares nothing later: Spark refuses it once `init` is done.
        if isinstance(target, _Self):
            self._set[instruction.argval] = value

    def _build_list(self, instruction: dis.Instruction) -> None:
        self._build_tuple(instruction)
        self._stack.append(list(self._stack.pop()))

    def _build_tuple(self, instruction: dis.Instruction) -> None:
        parts = self._popped(instruction)
        if any(map(_is_handle, parts)):
            raise _NotKnownError  # it may be taken out anywhere
        self._stack.append(parts)

    def _list_extend(self, instruction: dis.Instruction) -> None:
        added = self._stack.pop()
        self._stack[-(instruction.arg or 1)].extend(added)

    def _pop_top(self, instruction: dis.Instruction) -> None:
        self._stack.pop()

    def _binary_op(self, instruction: dis.Instruction) -> None:
        second, first = self._stack.pop(), self._stack.pop()
        whole = type(first) is int and type(second) is int
        product = whole and instruction.argrepr == "*"  # a time to live in other units
        self._stack.append(first * second if product else _Unknown())

    def _import_name(self, instruction: dis.Instruction) -> None:
        del self._stack[-2:]
        self._stack.append(_Named(instruction.argval))

    def _import_from(self, instruction: dis.Instruction) -> None:
        self._stack.append(self._part(self._stack[-1], instruction.argval))

    def _kw_names(self, instruction: dis.Instruction) -> None:
        self._keywords = instruction.argval

    def _call_kw(self, instruction: dis.Instruction) -> None:
        self._keywords = self._stack.pop()
        self._call(instruction)

    def _call(self, instruction: dis.Instruction) -> None:
        arguments, names = self._popped(instruction), self._keywords
        self._keywords = ()
        one, other = self._stack.pop(), self._stack.pop()
        function = other if isinstance(one, _Null) else one
        given = len(arguments) - len(names)
        named = dict(zip(names, arguments[given:], strict=True))
        self._stack.append(self._result(function, arguments[:given], named))

    # ------------------------------------------------------------------------------------ values

    def _popped(self, instruction: dis.Instruction) -> tuple[Any, ...]:
        count = instruction.arg or 0
        found = tuple(self._stack[len(self._stack) - count :])
        del self._stack[len(self._stack) - count :]
        return found

    def _outer(self, name: str) -> Any:
        return _known(self._names.get(name, _Named(f"builtins.{name}")))

    def _part(self, value: Any, name: str) -> Any:
        match value:
            case _Handle():
                return _Named(name, of=value)
            case _Named(name=module, of=None):
                return _Named(f"{module}.{name}")
            case _Self():
                if name in self._set:
                    return self._set[name]
                return _known(_attribute(self._processor, name))
            case _TypeMade(name="StructType") if name == "add":
                return _Named(name, of=value)
            case _:
                return _Unknown()

    def _result(self, function: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        match function:
            case _Named(of=_Handle(), name=name):
                self._declare(name, arguments, named)
                return _Unknown()
            case _Named(of=_TypeMade() as struct):
                fields = ("name", "dataType", "nullable")
                added = _TypeMade("StructField", dict(zip(fields, arguments, strict=False)) | named)
                return _TypeMade(struct.name, {"fields": [*struct.parts.get("fields", ()), added]})
            case _Named(name=name) if name.startswith(_TYPES):
                kind = name.removeprefix(_TYPES)
                parts = dict(zip(_FIELDS.get(kind, ()), arguments, strict=False))
                return _TypeMade(kind, parts | named)
        if function.__class__ is _Named and function.name == "builtins.setattr":
            return None
        if is_made(function) or any(
            isinstance(one, _Handle | _Self) for one in (*arguments, *named.values())
        ):
            raise _NotKnownError  # it may declare something
        return _Unknown()

    def _declare(self, method: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        kind = _KINDS.get(method)
        if kind is None:
            if method != "deleteIfExists":
                raise _NotKnownError
            return
        given = dict(zip(_PARAMETERS[kind], arguments, strict=False)) | named
        name, ttl_ms = given["stateName"], given.get("ttlDurationMs")
        if not isinstance(name, str) or not isinstance(ttl_ms, int | None):
            raise _NotKnownError
        value = given["valueSchema" if kind == "map" else "schema"]
        self._found[name] = StateVariable(
            name=name,
            kind=kind,
            value=_schema(value),
            user_key=_schema(given["userKeySchema"]) if kind == "map" else None,
            expires=bool(ttl_ms),
        )


def _is_handle(value: object) -> bool:
    return isinstance(value, _Handle) or (isinstance(value, _Named) and _is_handle(value.of))


def _known(value: Any) -> Any:
    """A pickled value, types of PySpark's and modules as such."""
    if isinstance(value, type) and issubclass(value, Pickled):
        return _Named(value.name)
    if not isinstance(value, Pickled):
        return value
    if value.name.endswith(".subimport"):
        return _Named(value.arguments[0])
    if value.name.startswith(_TYPES):
        parts = dict(value.state[-1]) if value.state else {}
        return _TypeMade(value.name.removeprefix(_TYPES), parts)
    return value


def _schema(value: Any) -> StructType:
    found = parse_schema(value) if isinstance(value, str) else type_from_json(_json(value))
    if not isinstance(found, StructType):
        raise _NotKnownError
    return found


def _json(value: Any) -> Any:
    """A type of PySpark's in its JSON."""
    value = _known(value)
    if not isinstance(value, _TypeMade):
        raise _NotKnownError
    parts = value.parts
    match value.name:
        case "StructType":
            return {"type": "struct", "fields": [_json(f) for f in parts.get("fields") or ()]}
        case "StructField":
            kind = _json(parts["dataType"])
            return {"name": parts["name"], "type": kind, "nullable": True, "metadata": {}}
        case "ArrayType":
            return {
                "type": "array",
                "elementType": _json(parts["elementType"]),
                "containsNull": True,
            }
        case "MapType":
            sides = {"keyType": _json(parts["keyType"]), "valueType": _json(parts["valueType"])}
            return {"type": "map", **sides, "valueContainsNull": True}
        case "DecimalType":
            return f"decimal({parts.get('precision', 10)},{parts.get('scale', 0)})"
        case "TimestampNTZType":
            return "timestamp_ntz"
        case name:
            return name.removesuffix("Type").lower()
