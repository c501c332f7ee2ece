"""Trees as Spark draws them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

Node = TypeVar("Node")


def tree_lines(
    root: Node,
    line: Callable[[Node], str],
    children: Callable[[Node], Sequence[Node]],
    inner: Callable[[Node], Sequence[Node]] = lambda _: (),
) -> Iterator[str]:
    """A tree with a line for each node, parents first.

    Children hang on `+- `, all but the last on `:- `. What `inner` gives, plans inside a node's
    expressions, stands between the node and its children, indented by `   `.
    """

    def drawn(node: Node, first: str, rest: str) -> Iterator[str]:
        yield first + line(node)
        below = children(node)
        yield from hung(inner(node), rest + (":  " if below else "   "))
        yield from hung(below, rest)

    def hung(nodes: Sequence[Node], rest: str) -> Iterator[str]:
        for place, node in enumerate(nodes, 1):
            mark, deeper = ("+- ", "   ") if place == len(nodes) else (":- ", ":  ")
            yield from drawn(node, rest + mark, rest + deeper)

    return drawn(root, "", "")
