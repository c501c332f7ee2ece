"""Immutable trees with named children: one way to walk, map and rebuild them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields
from functools import cache, lru_cache
from operator import is_
from typing import TYPE_CHECKING, ClassVar, Self, TypeVar, cast

from .frozen import dataclass
from .lazy import cached_property

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T")
N = TypeVar("N", bound="DataclassInstance")


@cache
def _layout(
    kind: type[DataclassInstance],
) -> tuple[tuple[str, ...], tuple[str, ...], frozenset[str], bool]:
    """The fields; what copies keep; fields whose change rules that out; is it checked when made?"""
    names = tuple(field.name for field in fields(kind))
    kept: tuple[str, ...] = getattr(kind, "kept", ())
    decisive = frozenset(getattr(kind, "expression_fields", ()))
    return names, kept, decisive, hasattr(kind, "__post_init__")


if TYPE_CHECKING:
    from dataclasses import replace as replace
else:

    def replace(node, /, **changes):
        """`dataclasses.replace` for frozen dataclasses, in a third of the time."""
        return rebuilt(node, changes)


def rebuilt(node: N, changes: dict[str, object]) -> N:
    """The frozen dataclass with other values in some fields."""
    kind = type(node)
    names, kept, decisive, checked = _layout(kind)
    new = object.__new__(kind)
    values, old = new.__dict__, node.__dict__
    for name in names:
        values[name] = old[name]
    values.update(changes)
    if kept and decisive.isdisjoint(changes):
        for name in kept:
            if name in old:
                values[name] = old[name]
    if checked:
        new.__post_init__()  # type: ignore[attr-defined]
    return new


@lru_cache(maxsize=4096)
def includes(classes: frozenset[type], kind: type) -> bool:
    """Whether one of the classes is the given one or derives from it."""
    return any(issubclass(one, kind) for one in classes)


@cache
def _only(kind: type) -> frozenset[type]:
    return frozenset((kind,))


@dataclass(frozen=True, kw_only=True)
class TreeNode:
    """A node whose children stand in the fields named by `child_fields`.

    A child field holds a node, a tuple of nodes, or None. Nodes are equal when their fields are;
    rebuilding with the same children gives the node itself, so that "nothing changed" is an `is`.
    """

    child_fields: ClassVar[tuple[str, ...]] = ()

    @cached_property
    def children(self) -> tuple[Self, ...]:
        """The children in order, those of tuple fields spread out, None left out."""
        names = self.child_fields
        if not names:
            return ()
        values = self.__dict__
        found: list[Self] = []
        for name in names:
            value = values[name]
            if isinstance(value, tuple):
                found.extend(value)
            elif value is not None:
                found.append(value)
        return tuple(found)

    @cached_property
    def classes(self) -> frozenset[type]:
        """The classes of the node and all below it; kept, as trees are asked for them often."""
        kind: type = type(self)
        found = _only(kind)
        for child in self.children:
            below = child.classes
            # The very set where nothing is new: most trees hold few classes.
            found = below if found <= below else found | below
        return found

    def holds(self, kind: type) -> bool:
        """Whether the node or one below it is of a class."""
        return includes(self.classes, kind)

    def map_children(self, function: Callable[[Self], Self]) -> Self:
        """This node with `function` applied to each child; itself if no child changed."""
        names = self.child_fields
        if not names:
            return self
        changed: dict[str, object] = {}
        values = self.__dict__
        for name in names:
            value = values[name]
            if isinstance(value, tuple):
                new = tuple(map(function, value))
                if not all(map(is_, new, value)):
                    changed[name] = new
            elif value is not None:
                mapped = function(value)
                if mapped is not value:
                    changed[name] = mapped
        return rebuilt(self, changed) if changed else self

    def with_new_children(self, children: tuple[Self, ...]) -> Self:
        """This node over other children, given in the order of `children`."""
        rest = iter(children)
        node = self.map_children(lambda _: next(rest))
        if next(rest, None) is not None:
            raise ValueError(f"too many children for {type(self).__name__}")
        return node

    def transform_up(self, function: Callable[[Self], Self]) -> Self:
        """Rebuild bottom-up: the children first, then `function` on the node over them."""
        return function(self.map_children(lambda child: child.transform_up(function)))

    def transform_down(self, function: Callable[[Self], Self]) -> Self:
        """Rebuild top-down: `function` on the node, then the children of what it gave."""
        return function(self).map_children(lambda child: child.transform_down(function))

    def walk(self) -> Iterator[Self]:
        """The node and all below it, parents before children, left to right."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            if node.children:
                waiting.extend(reversed(node.children))

    def collect(self, kind: type[T]) -> list[T]:
        """All nodes of a class, in the order of `walk`."""
        if not self.holds(kind):
            return []
        return [cast(T, node) for node in self.walk() if isinstance(node, kind)]

    def exists(self, test: Callable[[Self], bool]) -> bool:
        """Whether any node of the tree passes the test."""
        return any(test(node) for node in self.walk())
