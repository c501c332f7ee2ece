"""The frames of windows: `ROWS BETWEEN 3 PRECEDING AND CURRENT ROW`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..model.expressions.core import Expression
from ..model.expressions.unresolved import UnresolvedFunction
from ..model.text.text import pretty

Node = Any  # sqlglot carries no types here


def read_frame(
    spec: Node | None, read: Callable[[Node], Expression]
) -> tuple[str, tuple[Expression, ...]]:
    """The frame in full as SQL says it, and the values in it as distances from the row."""
    if spec is None:
        return "", ()
    bounds: list[str] = []
    values: list[Expression] = []
    for name, side_name in (("start", "start_side"), ("end", "end_side")):
        written, side = spec.args.get(name), spec.args[side_name]
        if written is None:
            bounds.append(side)
            continue
        value = read(written)
        bounds.append(f"{pretty(value)} {side}")
        if side == "PRECEDING":
            value = UnresolvedFunction(name="-", arguments=(value,), origin=value.origin)
        values.append(value)
    return f"{spec.args['kind']} BETWEEN {' AND '.join(bounds)}", tuple(values)
