"""All orders of the steps of two drivers, and all moments of death.

The drivers are the real code. A driver is deterministic given what its steps gave, so it is a tree:
a node is what it has seen so far, its step the next thing it does. A branch that is not known yet
is found by running the code again from its start, fed with what it has seen. What is explored is
the product of a world and two nodes, breadth first, each state once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from .rig import repeatable
from .world import Step, Take, World

Program = Callable[[Take], Any]
LOSSES = ("process", "names", "contents")


@dataclass(eq=False)
class Node:
    """A process at one moment: what it does next, or how it ended.

    Attributes:
        seen: what its steps gave so far.
        step: the next one; None: it ended.
        ended: what it returned, or raised.
    """

    seen: tuple[Any, ...] = ()
    step: Step | None = None
    ended: Any = None
    known: dict[Any, Node] = field(default_factory=dict)


def _key(result: Any) -> Any:
    if isinstance(result, Exception):
        return (type(result), getattr(result, "errno", None))
    return result


class Worlds:
    """The worlds that were reached, each once, so that equal ones are the same object."""

    def __init__(self) -> None:
        self._known: dict[Any, World] = {}

    def one(self, world: World) -> World:
        """The world that stands for all equal ones."""
        return self._known.setdefault(world.key(), world)

    def without(self, world: World, who: str) -> World | None:
        """The world after a process died; None where that is as if it slept for ever."""
        held = world.locks is not None and who in world.locks.values()
        return self.one(world.after("process", who)) if held else None


class Process:
    """A program as a tree of what it may see."""

    def __init__(self, name: str, program: Program) -> None:
        self.name = name
        self._program = program
        self._root: Node | None = None
        self._next: dict[tuple[int, int], tuple[World, Node | None]] = {}
        self.ends: set[Any] = set()
        self.runs = 0

    def start(self, world: World) -> Node:
        """The process before its first step, in any world."""
        if self._root is None:
            self._root = Node()
            self._learn(self._root, world)
        return self._root

    def after(self, node: Node, world: World, worlds: Worlds) -> tuple[World, Node | None]:
        """The world and the process after the process's next step; no process once it ended."""
        key = (id(world), id(node))
        found = self._next.get(key)
        if found is None:
            changed = world.copy()
            left: Node | None = self._step(node, changed)
            if left is not None and left.step is None:
                self.ends.add(left.ended)
                left = None
            found = self._next[key] = (worlds.one(changed), left)
        return found

    def to_the_end(self, world: World) -> Any:
        """Run the process alone; it changes the world. What it returned or raised."""
        node = self.start(world)
        while node.step is not None:
            node = self._step(node, world)
        return node.ended

    def _step(self, node: Node, world: World) -> Node:
        """Take the next step in a world, which it changes."""
        assert node.step is not None
        result = world.do(self.name, node.step)
        key = _key(result)
        if key not in node.known:
            node.known[key] = Node((*node.seen, result))
            self._learn(node.known[key], world)
        return node.known[key]

    def _learn(self, node: Node, world: World) -> None:
        """Run the program through what the node has seen, then on in a copy of the world."""
        self.runs += 1
        world, seen, at = world.copy(), iter(node.seen), node

        def take(*step: Any) -> Any:
            nonlocal at
            result = next(seen, _NEW)
            if result is _NEW:
                at.step = step
                result = world.do(self.name, step)
                at = at.known.setdefault(_key(result), Node((*at.seen, result)))
            if isinstance(result, Exception):
                raise result
            return result

        with repeatable(self.name):
            try:
                at.ended = self._program(take)
            except Exception as problem:
                at.ended = problem


_NEW = object()


def _private(node: Node, world: World) -> bool:
    """Whether no other process can tell when a step is taken, or change what it gives.

    It is on a passing name, makes only durable what has no other name yet, or looks at what is
    there for good.
    """
    assert node.step is not None
    step, what, path = node.step, node.step[0], node.step[1]
    if what == "emit":
        return False
    if what == "sync" and path in world.folders:
        return world.is_durable(path)
    if path.endswith(".crc"):  # readers do without one that is not there
        return True
    if what == "rename":
        return bool(step[2].endswith(".crc"))
    if what in ("read", "kind") and not path.startswith(("/c/claims/", "/c/state/0/runs/")):
        return path in world.names or path in world.folders
    return what in ("sync", "open") or (what in ("write", "unlink") and path.endswith(".tmp"))


State = tuple[World, Node | None, Node | None]
"""A world and two processes in it; None: it ended or is dead."""


def explore(
    start: World, worlds: Worlds, first: Process, second: Process, *, alike: bool = True
) -> Iterator[State]:
    """Every state that two processes can reach, each of which may die at any moment.

    The second one begins at any moment; if they are alike not before the first one.
    """
    begin = (worlds.one(start), first.start(start), second.start(start))
    seen = {tuple(map(id, begin))}
    queue: deque[State] = deque([begin])
    while queue:
        state = queue.popleft()
        yield state
        waits = alike and state[1] is not None and not state[1].seen
        for following in _following(state, first, second, worlds, waits):
            key = (id(following[0]), id(following[1]), id(following[2]))
            if key not in seen:
                seen.add(key)
                queue.append(following)


def _following(
    state: State, first: Process, second: Process, worlds: Worlds, waits: bool
) -> list[State]:
    """The states after one; the second process may have to wait for the first one."""
    world, one, two = state
    found: list[State] = []
    alone_one = one is not None and _private(one, world)
    alone_two = two is not None and not waits and not alone_one and _private(two, world)
    if one is not None:
        if not alone_two:
            after, node = first.after(one, world, worlds)
            found.append((after, node, two))
        if (left := worlds.without(world, first.name)) is not None:
            found.append((left, None, two))
    if two is not None and not waits:
        if not alone_one:
            after, node = second.after(two, world, worlds)
            found.append((after, one, node))
        if (left := worlds.without(world, second.name)) is not None:
            found.append((left, one, None))
    return found
