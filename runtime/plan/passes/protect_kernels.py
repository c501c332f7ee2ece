"""Keeps an engine from running a kernel twice in a batch, in part, or among tasks of other inputs.

    Sort (global)              Sort (global)
    +- Kernel                  +- Exchange (any)
                                  +- Kernel

Spark samples the input of a global sort or of a repartition by range to find its bounds: everything
below runs twice, up to the exchange below it, whose files it keeps. A product reads each side many
times. The tasks of a union are numbered through all its inputs, those of a coalesce are fewer,
while a kernel goes by the number of its own. So an exchange is put between; the first input of a
union of our own, whose inputs have no order, keeps its numbers. Where state is small
the rows of a global sort go to one task: one exchange then does for both, and there is nothing to
sample. A limit does not read its input to the end, without which a kernel's state is not written:
the rows go to it through an exchange, and a limit of each task, which only spares that one work,
is left out. Idempotent.
"""

from __future__ import annotations

from ....physical.basic import CollectLimitExec, GlobalLimitExec, LocalLimitExec, UnionExec
from ....physical.distribution import RangePartitioning
from ....physical.exchange import CoalesceExec, ShuffleExchangeExec, SortExec
from ....physical.joins import CartesianProductExec
from ....planner.model.tree import replace
from ..facts import BatchFacts
from ..nodes import Aggregate, AsIs, Exchange, Kernel, RuntimeNode, Union, with_inputs


def protect_kernels(plan: RuntimeNode, facts: BatchFacts) -> RuntimeNode:
    """The plan in which each kernel is run once, and to its end."""
    if not facts.engine.repeats:
        return plan

    def protected(node: RuntimeNode) -> RuntimeNode:
        if isinstance(node, Union):
            # One task alone has one number.
            return node if facts.tasks == 1 else _first_exposed(node)
        if not isinstance(node, AsIs):
            return node
        match node.operator:
            case SortExec(is_global=True):
                (below,) = node.inputs
                if not _exposed(below):
                    return node
                if _few_rows(facts):
                    sort = replace(node.operator, is_global=False)
                    rows = Exchange(child=below, to="one")
                    return replace(node, inputs=(rows,), operator=sort)
                return replace(node, inputs=(Exchange(child=below, to="any"),))
            case LocalLimitExec() if _exposed(node):
                return node.inputs[0]
            case GlobalLimitExec() | CollectLimitExec() if _exposed(node):
                return replace(node, inputs=(Exchange(child=node.inputs[0], to="one"),))
            case ShuffleExchangeExec(partitioning=RangePartitioning()):
                return with_inputs(node, _apart)
            case UnionExec() | CoalesceExec() | CartesianProductExec():
                return with_inputs(node, _apart)
        return node

    return plan.transform_up(protected)


def _first_exposed(union: Union) -> Union:
    exposed = [rows for rows in union.inputs if _exposed(rows)]
    others = [rows for rows in union.inputs if not _exposed(rows)]
    if not exposed:
        return union
    return replace(union, inputs=(exposed[0], *map(_apart, exposed[1:]), *others))


def _apart(node: RuntimeNode) -> RuntimeNode:
    return Exchange(child=node, to="any") if _exposed(node) else node


def _exposed(node: RuntimeNode) -> bool:
    """Whether a kernel runs in the same stage."""
    if isinstance(node, Kernel):
        return True
    if isinstance(node, Exchange | Aggregate):
        return False
    if isinstance(node, AsIs) and isinstance(node.operator, ShuffleExchangeExec):
        return False
    return any(map(_exposed, node.children))


def _few_rows(facts: BatchFacts) -> bool:
    return not any(figures.much_state for figures in facts.figures.values())
