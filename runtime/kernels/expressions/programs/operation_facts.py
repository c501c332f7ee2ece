"""What is known of an operation that tasks compute, and the families of types it takes.

The module imports neither Arrow nor numpy: the planner's passes ask it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal as Lit
from typing import NamedTuple

from .program import Kind

WHOLE = ("tinyint", "smallint", "int", "bigint")
FLOATS = ("float", "double")
TIMES = ("timestamp", "timestamp_ntz")
ORDERED = (*WHOLE, *FLOATS, "decimal", "boolean", "string", "binary", "date", *TIMES, "daytime")
"""Types whose values can be compared. All of them can be columns."""

HASHED = (*ORDERED[:-1], "array", "struct")

Signature = tuple[str, ...]
"""The types of the arguments; `decimal` is any decimal, `any` any type, `hashed` any but intervals
and maps; one that begins with `=` takes constants only."""


class Arguments(NamedTuple):
    """The arguments of an operation, and the options of its call.

    Attributes:
        kinds: of the arguments.
        values: of those that are constants; `...` for the others.
        options: of the call; for most operations none.
        kind: of the result.
    """

    kinds: Sequence[Kind]
    values: Sequence[object]
    options: Sequence[object]
    kind: Kind


@dataclass(frozen=True)
class Operation:
    """What is known of an operation.

    Attributes:
        signatures: the types that it takes.
        variadic: whether the last argument may be given more than once.
        raises: whether it can raise: `ANSI`, only where a value that does not fit is an error.
        right_first: whether Spark computes the second argument first.
        eager: whether Spark computes all arguments, null or not; if not, an argument is computed
            only where none before it is null.
        accepts: what else must hold of the arguments.
        slow: whether it takes longer than reading its arguments from files.
    """

    signatures: tuple[Signature, ...]
    variadic: bool = False
    raises: Lit["never", "ANSI", "always"] = "never"
    right_first: bool = False
    eager: bool = False
    accepts: Callable[[Arguments], bool] | None = None
    slow: bool = False


def same(kinds: Sequence[str], count: int) -> tuple[Signature, ...]:
    return tuple((kind,) * count for kind in kinds)


def each(*kinds: Sequence[str]) -> tuple[Signature, ...]:
    return tuple(product(*kinds))


def leaves(kind: Kind) -> Iterator[Kind]:
    """The kinds of all values in one."""
    if isinstance(kind, tuple):
        for part in kind[2]:
            yield from leaves(part)
    else:
        yield kind


def family(kind: Kind) -> str:
    """A kind as signatures name it."""
    if isinstance(kind, tuple):
        return kind[0]
    return "decimal" if kind.startswith("decimal(") else kind


def same_kinds(given: Arguments) -> bool:
    """Whether all arguments have one type."""
    return all(kind == given.kinds[0] for kind in given.kinds)


def takes(operation: Operation, given: Arguments) -> bool:
    """Whether an operation is computed here for these arguments."""
    fits = any(_fits(operation, signature, given) for signature in operation.signatures)
    return fits and (operation.accepts is None or operation.accepts(given))


def _fits(operation: Operation, signature: Signature, given: Arguments) -> bool:
    more = len(given.kinds) - len(signature)
    if more < 0 or (more and not operation.variadic):
        return False
    wanted = (*signature, *(signature[-1:] * more))
    return all(
        (code.lstrip("=") in ("any", family(kind)) or (code == "hashed" and family(kind) in HASHED))
        and (not code.startswith("=") or value is not ...)
        for code, kind, value in zip(wanted, given.kinds, given.values, strict=True)
    )
