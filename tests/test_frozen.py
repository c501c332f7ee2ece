"""Our `dataclass` beside the standard library's: the same instances of the same classes."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from dataclasses import field
from typing import Any, ClassVar

import pytest

from stateplan.planner.model import frozen
from stateplan.planner.model.tree import replace


def classes(dataclass: Callable[..., Any]) -> list[Any]:
    """Classes with all that ours have; a field may be named like anything."""

    @dataclass(frozen=True)
    class Base:
        """A base."""

        kind: ClassVar[str] = "base"
        values: int
        self_: tuple[int, ...] = ()

    @dataclass(frozen=True)
    class Behind(Base):
        more: list[int] = field(default_factory=list, hash=False)
        hidden: int = field(default=3, compare=False, repr=False)
        held: int = field(init=False, default=7)

    @dataclass(frozen=True, kw_only=True)
    class Checked(Base):
        name: str
        other: str = "x"

        def __post_init__(self) -> None:
            if not self.name:
                raise ValueError("no name")

    @dataclass(frozen=True, eq=False)
    class ByIdentity:
        a: int = 1

    @dataclass(frozen=True)
    class Own:
        a: float

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Own)

        def __hash__(self) -> int:
            return 5

        def __repr__(self) -> str:
            return "own"

    @dataclass(frozen=True)
    class Empty:
        pass

    return [Base, Behind, Checked, ByIdentity, Own, Empty]


OURS, THEIRS = classes(frozen.dataclass), classes(dataclasses.dataclass)
ARGUMENTS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((), {}),
    ((1,), {}),
    ((1, (2,)), {}),
    ((1, (2,), [3], 4), {}),
    ((1,), {"name": "n"}),
    ((1,), {"name": ""}),
    ((), {"values": 2, "hidden": 1}),
    ((), {"a": float("nan")}),
    ((1, 2, 3, 4, 5), {}),
    ((), {"unknown": 1}),
]


def made(kind: Any, arguments: tuple[tuple[Any, ...], dict[str, Any]]) -> Any:
    """An instance; or the type of what is raised."""
    try:
        return kind(*arguments[0], **arguments[1])
    except (TypeError, ValueError) as error:
        return type(error)


@pytest.mark.parametrize("place", range(len(OURS)), ids=[kind.__name__ for kind in OURS])
def test_instances_are_those_of_the_standard_library(place: int) -> None:
    ours, theirs = OURS[place], THEIRS[place]
    pairs = [(made(ours, a), made(theirs, a)) for a in ARGUMENTS]
    assert any(dataclasses.is_dataclass(type(own)) for own, _ in pairs)
    for own, other in pairs:
        if isinstance(other, type):
            assert own is other
            continue
        if "object at" not in repr(other):
            assert repr(own) == repr(other)
        names = [f.name for f in dataclasses.fields(other)]
        assert [f.name for f in dataclasses.fields(own)] == names
        assert [repr(getattr(own, n)) for n in names] == [repr(getattr(other, n)) for n in names]
        if type(own).__hash__ is not object.__hash__:
            assert hash(own) == hash(other)
        for name in ("values", "anything"):
            with pytest.raises(dataclasses.FrozenInstanceError):
                setattr(own, name, 1)
            with pytest.raises(dataclasses.FrozenInstanceError):
                delattr(own, name)
        for one, two in pairs:
            if not isinstance(two, type):
                assert (own == one) is (other == two)
        assert own != other


@frozen.dataclass(frozen=True)
class Elsewhere:
    """One that can be pickled."""

    x: int


def test_instances_are_copied_and_pickled() -> None:
    one = Elsewhere(1)
    assert pickle.loads(pickle.dumps(one)) == copy.deepcopy(one) == one
    assert dataclasses.replace(one, x=2) == replace(one, x=2) == Elsewhere(2)
    assert one != dataclasses.replace(one, x=2)
