"""Lets an engine that has Spark's hashes compute each row's place and hash.

    Kernel                Kernel (placed)
    +- rows               +- Select [place, hash, ...]
                             +- rows

The place of a row is Spark's `hash` of its keys, from which its store follows; the hash is
`xxhash64`, by which state is sorted. Where a kernel asks which partition a row was read in, that
number travels in the lower half of the place. Elsewhere our own hashing does it
(`kernels/hashes/rows.py`). Runs after the exchanges have their place. Idempotent.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....planner.model.expressions.core import Alias, Call, Cast, Expression, Literal, lit
from ....planner.model.schemas.types import INT, LONG
from ....planner.model.tree import replace
from ..facts import BatchFacts
from ..nodes import Kernel, RuntimeNode, Select
from ..reading_nodes import rows_of_tasks

PLACE, HASH = "__place", "__hash"


def place_rows(plan: RuntimeNode, facts: BatchFacts) -> RuntimeNode:
    """The plan whose kernels get places and hashes."""
    if not facts.engine.hashes:
        return plan
    return plan.transform_up(_placed)


def _placed(node: RuntimeNode) -> RuntimeNode:
    if not isinstance(node, Kernel) or node.placed or rows_of_tasks(node):
        return node
    inputs = tuple(_with_place(node, child) for child in node.inputs)
    return replace(node, inputs=inputs, placed=True)


def _with_place(kernel: Kernel, rows: RuntimeNode) -> RuntimeNode:
    place: Expression = Literal(value=0, type_=INT)
    if not kernel.single:
        place = _hash("hash", kernel.hashed)
    if kernel.origin is not None:
        wide = Cast(child=place, type_=LONG)
        shifted = Call(name="shiftleft", arguments=(wide, lit(32)))
        place = Call(name="|", arguments=(shifted, Cast(child=kernel.origin, type_=LONG)))
    hash_: Expression = Literal(value=0, type_=LONG)
    if kernel.hashed:
        hash_ = _hash("xxhash64", kernel.hashed)
    origin = None if kernel.origin is None else kernel.origin.expr_id
    columns = (column for column in rows.output if column.expr_id != origin)
    made = (Alias(child=place, name=PLACE), Alias(child=hash_, name=HASH))
    return Select(child=rows, columns=(*made, *columns))


def _hash(name: str, keys: Sequence[Expression]) -> Expression:
    return Call(name=name, arguments=tuple(keys), options=(42,))
