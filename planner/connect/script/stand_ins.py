"""What stands in for a value that only a missing module has.

A stand-in is inert: its attributes, items and calls are stand-ins, it decorates, is entered,
iterated and inherited from, and nothing happens. It is a text, `?settings.WATERMARK?`, so wherever
a name, a path, a schema or a duration is needed, it goes on as that. What would need its value, a
comparison or arithmetic, ends with an error at the user's line.
"""

from __future__ import annotations

import dis
import functools
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from types import FrameType, FunctionType
from typing import Any, Self

from .rules import Rules

_WITH_DEFAULT = re.compile(r"(?<!secrets)\.get(env)?$")
_ERROR_NAME = re.compile(r"[A-Z]\w*(Error|Exception|Timeout|Warning)")


class StandInNeeded(Exception):
    """The value of something that is not there is needed."""

    def __init__(self, path: str, what: str) -> None:
        super().__init__(path, what)
        self.path = path
        self.what = what

    def __str__(self) -> str:
        return f"The value of ?{self.path}? is needed to {self.what} it, and it is not here."


_OF_SESSIONS = ("readStream", "createDataFrame", "sparkContext", "streams", "udf")
_OF_NAMED_SESSIONS = ("read", "sql", "table", "conf", "catalog", "range")
_BUILDS_SESSION = re.compile(r"\bbuilder\b.*\.(?:getOrCreate|create)$", re.DOTALL)
# What no other library's objects have.
_OF_FRAMES = (
    *("writeStream", "writeTo", "withWatermark", "dropDuplicates", "groupBy", "selectExpr"),
    *("withColumn", "withColumns", "withColumnRenamed", "withColumnsRenamed", "isStreaming"),
    *("createOrReplaceTempView", "createOrReplaceGlobalTempView", "unionByName"),
)
_WITH_COLUMNS = re.compile(r"(.+)\.(select|filter|where|join|agg|orderBy|sort|drop)", re.DOTALL)


class StandIn(str):
    """A value that is not there.

    Args:
        path: how the code reaches it, such as `settings.WATERMARK` or `settings.load()`.
    """

    _stand_in: str

    def __new__(cls, path: str) -> StandIn:
        Rules.any_stand_in = True
        path = path.replace("?", "")  # of others that it is reached by
        made = super().__new__(cls, f"?{path}?")
        made.__dict__["_stand_in"] = path
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return StandIn, (self._stand_in,)

    # ------------------------------------------------------------------------------------- reached

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__") and name != "__version__":
            raise AttributeError(name)
        if _ERROR_NAME.fullmatch(name):
            found: Any = _exception(f"{self._stand_in}.{name}")
        elif Rules.session is not None and self._is_session(name):
            found = getattr(Rules.session(), name)
            Rules.seen(self._stand_in, "session")
        elif Rules.frame is not None and name in _OF_FRAMES:
            found = getattr(Rules.frame(self._stand_in, True), name)
        else:
            found = StandIn(f"{self._stand_in}.{name}")
        return found

    def _is_session(self, name: str) -> bool:
        last = self._stand_in.rpartition(".")[2].lower()
        named = name in _OF_NAMED_SESSIONS and "spark" in last
        return named or name in _OF_SESSIONS

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        if len(arguments) == 1 and not named:
            (argument,) = arguments
            if isinstance(argument, FunctionType) and _decorates(argument, sys._getframe(1)):
                return _filled_in(argument)
            if isinstance(argument, type):
                return argument
        for argument in (*arguments, *named.values()):
            if isinstance(argument, Rules.passed_through):
                return argument
        if Rules.session is not None and _BUILDS_SESSION.search(self._stand_in):
            Rules.seen(self._stand_in, "session")
            return Rules.session()
        of_frame = _WITH_COLUMNS.fullmatch(self._stand_in)
        if Rules.frame is not None and of_frame and _takes_columns(arguments):
            return getattr(Rules.frame(of_frame[1], True), of_frame[2])(*arguments, **named)
        if Rules.transformed is not None and self._stand_in.endswith(".transform"):
            for argument in arguments:
                if type(argument).__name__ == "DataFrame":
                    return Rules.transformed(self._stand_in, argument)
        # What the code gives for the case that nothing is set.
        if "default" in named:
            return named["default"]
        if _WITH_DEFAULT.search(self._stand_in) and len(arguments) == 2:
            return arguments[1]
        first = repr(arguments[0]) if arguments and type(arguments[0]) is str else ""
        return StandIn(f"{self._stand_in}({first})")

    def __getitem__(self, key: Any) -> Any:
        return StandIn(f"{self._stand_in}[{key if isinstance(key, StandIn) else repr(key)}]")

    def __setitem__(self, key: Any, value: Any) -> None:
        """Nothing is kept."""

    __delitem__: Any = lambda self, key: None

    # ----------------------------------------------------------------------------------- protocols

    def __bool__(self) -> bool:
        return True

    def __format__(self, spec: str) -> str:
        try:
            return super().__format__(spec)
        except ValueError:
            return str(self)  # the format of a number

    def __len__(self) -> int:
        return 0

    def __iter__(self) -> Iterator[Any]:
        """Nothing, or as many values as `a, b = ...` unpacks, or one where streams depend on it."""
        frame = sys._getframe(1)
        number = _unpacked(frame) or int(Rules.once(frame, self._stand_in))
        return iter(_parts(self._stand_in, number))

    def __next__(self) -> Any:
        raise StopIteration

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Errors within the block go on."""

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        return (StandInBase,)

    def __instancecheck__(self, other: object) -> bool:
        return False

    def __subclasscheck__(self, other: type) -> bool:
        return False

    def __or__(self, other: Any) -> Any:
        """`Missing | None` in an annotation."""
        return self

    __ror__ = __or__

    def __rshift__(self, other: Any) -> Any:
        """`first >> second` of tasks."""
        return other

    __lshift__ = __rshift__

    # ------------------------------------------------------------------------------- value needed

    __hash__ = str.__hash__

    def _compared(self, other: object, method: str) -> Any:
        if other == "" and method in ("__eq__", "__ne__"):
            return method == "__ne__"  # it is something
        taken = Rules.handed_in.get(self._stand_in)
        if taken == "" and type(other) is str:
            Rules.handed_in[self._stand_in] = taken = other
            Rules.seen(self._stand_in, other)
        if taken:
            return getattr(str, method)(taken, other)
        plain = other is None or isinstance(other, str | int | float | list | tuple | dict)
        if plain and Rules.users(sys._getframe(2).f_code.co_filename):
            raise StandInNeeded(self._stand_in, "compare")
        return getattr(str, method)(self, other)

    def __add__(self, other: Any) -> Any:
        """Texts go on as texts: `settings.BUCKET + "/events"`."""
        if isinstance(other, str):
            return f"{self}{other}"
        raise StandInNeeded(self._stand_in, "calculate with")

    def __radd__(self, other: Any) -> Any:
        if isinstance(other, str):
            return f"{other}{self}"
        raise StandInNeeded(self._stand_in, "calculate with")

    def __truediv__(self, other: Any) -> Any:
        """A path below a folder that is not known."""
        if isinstance(other, str):
            return StandIn(f"{self._stand_in}/{other}")
        raise StandInNeeded(self._stand_in, "calculate with")

    def _calculated(self, *others: Any) -> Any:
        raise StandInNeeded(self._stand_in, "calculate with")

    __sub__ = __rsub__ = __mul__ = __rmul__ = __rtruediv__ = __pow__ = __mod__ = _calculated
    __floordiv__ = __rfloordiv__ = __neg__ = __index__ = _calculated

    def __int__(self) -> int:
        """A number that nobody knows is 1, as `Rules.seen` reports: a plan hardly depends on it."""
        Rules.seen(self._stand_in, "number")
        return 1

    def __float__(self) -> float:
        return float(int(self))


class NoRows(list[Any]):
    """The rows of a table that nobody reads: none, or one where streams depend on it."""

    def __iter__(self) -> Iterator[Any]:
        return iter(_parts("collect()", int(Rules.once(sys._getframe(1), "collect()"))))

    def __getitem__(self, key: Any) -> Any:
        return StandIn(f"collect()[{key}]") if isinstance(key, int) else []


class _TextMethod(StandIn):
    """`settings.TOPICS.split`: a text's method, or an attribute of an object of the same name."""

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        owner, _, name = self._stand_in.rpartition(".")
        text = f"?{owner}?"
        try:
            found = getattr(str, name)(text, *arguments, **named)
        except (TypeError, ValueError):
            return super().__call__(*arguments, **named)
        if isinstance(found, list):
            wanted = _unpacked(sys._getframe(1))
            if wanted not in (0, len(found)):
                return _parts(f"{self._stand_in}()", wanted)
            return [StandIn(owner) if one == text else one for one in found]
        # What leaves the text as it is may as well be a writer's `format("delta")`.
        may_be = found == text and Rules.users(sys._getframe(1).f_code.co_filename)
        return super().__call__(*arguments, **named) if may_be else found


def _takes_columns(arguments: tuple[Any, ...]) -> bool:
    """Whether a call is one that only a DataFrame's method takes."""
    parts = (part for one in arguments for part in (one if isinstance(one, list) else [one]))
    return any(isinstance(part, Rules.of_frames) for part in parts)


def _unpacked(frame: FrameType) -> int:
    """How many values the line unpacks that runs in a frame, `a, b = ...`; 0 if it does not."""
    code, at = frame.f_code.co_code, frame.f_lasti
    if dis.opname[code[at]].startswith("CALL"):
        at += 2
        while dis.opname[code[at]] == "CACHE":
            at += 2
    return code[at + 1] if dis.opname[code[at]] == "UNPACK_SEQUENCE" else 0


def _parts(path: str, number: int) -> list[StandIn]:
    return [StandIn(f"{path}[{place}]") for place in range(number)]


def _text_method(name: str) -> property:
    def method(self: StandIn) -> _TextMethod:
        found: Any = _TextMethod(f"{self._stand_in}.{name}")
        return found  # type: ignore[no-any-return]

    return property(method)


def _comparison(name: str) -> Callable[[StandIn, object], Any]:
    return lambda self, other: self._compared(other, name)


for _name in dir(str):
    if not _name.startswith("_"):
        setattr(StandIn, _name, _text_method(_name))
for _name in ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"):
    setattr(StandIn, _name, _comparison(_name))


def lacking(path: str) -> Callable[[str], StandIn]:
    """A module's `__getattr__` by which the names that it lacks are stand-ins."""

    def found(name: str) -> StandIn:
        if name.startswith("__"):
            raise AttributeError(name)
        return StandIn(f"{path}.{name}")

    return found


class OtherwiseStandIn:
    """An object that lacks no attribute: all but its own are stand-ins.

    Attributes:
        _path: how the code reaches it; by default the class's name.
    """

    _path = ""

    def __getattr__(self, name: str) -> Any:
        return lacking(self._path or type(self).__name__)(name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing is open."""


class StandInBase(OtherwiseStandIn):
    """The base of a class whose base is missing: takes any arguments, lacks no attribute."""

    def __init_subclass__(cls, **named: Any) -> None:
        # `topic: str = Field("orders")` below a base that would make a value of it.
        for name, field in list(vars(cls).items()):
            if type(field).__name__ in ("FieldInfo", "Field"):
                default = field.get_default(call_default_factory=True)
                if default is ... or type(default).__name__ == "PydanticUndefinedType":
                    delattr(cls, name)
                else:
                    setattr(cls, name, default)

    def __init__(self, *arguments: Any, **named: Any) -> None:
        self.__dict__.update(named)


@functools.cache
def _exception(path: str) -> type[Exception]:
    def made(error: Exception, *arguments: Any, **named: Any) -> None:
        Exception.__init__(error, *arguments)
        vars(error).update(named)  # as most keep them, such as `status_code`

    return type(path.rpartition(".")[2], (Exception,), {"__init__": made})


def _decorates(function: FunctionType, caller: FrameType) -> bool:
    """Whether a call is `@missing` above a function; else the function is a callback of it."""
    code = function.__code__
    body = [line for _, _, line in code.co_lines() if line and line > code.co_firstlineno]
    here = caller.f_code.co_filename == code.co_filename
    end = min(body, default=code.co_firstlineno + 1)
    return here and code.co_firstlineno <= caller.f_lineno < end and code.co_name != "<lambda>"


def _filled_in(function: FunctionType) -> Callable[..., Any]:
    """A function that a missing decorator wraps: what that would hand in are stand-ins."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return function

    @functools.wraps(function)
    def called(*arguments: Any, **named: Any) -> Any:
        try:
            bound = signature.bind_partial(*arguments, **named)
        except TypeError:
            return function(*arguments, **named)
        for name, parameter in signature.parameters.items():
            open_ = parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
            if open_ and parameter.default is parameter.empty and name not in bound.arguments:
                named[name] = StandIn(f"{function.__name__}.{name}")
        return function(*arguments, **named)

    return called
