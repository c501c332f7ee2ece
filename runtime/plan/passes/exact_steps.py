"""Relational steps and readers that the engine may do otherwise than Spark: they are refused."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ....physical.basic import GenerateExec, GlobalLimitExec, LocalLimitExec, UnionExec
from ....physical.exchange import (
    SampleExec,
    ShuffleExchangeExec,
    SortExec,
    TakeOrderedAndProjectExec,
)
from ....physical.joins import BaseJoinExec, BroadcastHashJoinExec, EquiJoinExec
from ....planner.model.errors import RuntimeFailure
from ....planner.model.expressions.core import AttributeReference, Call, Expression, SortOrder
from ....planner.model.formats import COLUMNAR_FORMATS
from ....planner.model.plans.join_types import SHORT_WORDS
from ....planner.model.schemas.types import BOOLEAN, DataType, StructType
from ....planner.model.tree import replace
from ..facts import BatchFacts, Exactness
from ..nodes import AsIs, Exchange, Kernel, RuntimeNode, Union
from ..observing_nodes import ObserveEventTime
from ..specs import SessionSpec

_HOW = {**SHORT_WORDS, "Cross": SHORT_WORDS["Inner"], "ExistenceJoin": "existence"}
"""The names that steps have in the table, by Spark's join types."""


class ExactSteps:
    """What is known of the engine's steps and readers.

    Args:
        exactness: the engine's.
        facts: settings and readers of the batch.
    """

    def __init__(self, exactness: Exactness, facts: BatchFacts) -> None:
        self._exactness = exactness
        self._facts = facts

    def operator(self, node: AsIs) -> None:
        """Check an operator that the engine runs as Spark does.

        Raises:
            RuntimeFailure: it does not (STATEPLAN_NOT_EXACT).
        """
        match node.operator:
            case SortExec(order=order) | TakeOrderedAndProjectExec(order=order):
                self._sort(order)
            case BroadcastHashJoinExec(null_aware=True, left_keys=keys):
                self.step("join null-aware anti", [key.data_type for key in keys])
            case EquiJoinExec(join_type=how, left_keys=keys):
                self.step(f"join {_HOW.get(how, how)}", [key.data_type for key in keys])
            case BaseJoinExec(join_type=how):
                self.step(f"join {_HOW.get(how, how)} without keys", [BOOLEAN])
            case UnionExec():
                self.step("union", [a.data_type for a in node.output])
            case GenerateExec(generator=Call(name=name, arguments=arguments), outer=outer):
                step = f"{name}_outer" if outer else name
                self.step(step, [argument.data_type for argument in arguments])
            case LocalLimitExec() | GlobalLimitExec() if _stops_observing(node):
                # Spark reads row by row, and sees the times of those alone that it reads.
                raise not_exact(
                    "a limit right above a watermark",
                    "how many rows it reads decides the watermark",
                )
            case SampleExec(lower=lower) if lower > 0:
                raise not_exact("a part of a random split", "it chooses rows of its own")
            case ShuffleExchangeExec():
                return

    def kernel(self, node: Kernel) -> None:
        """Check one of our operators that takes rows in the order in which Spark reads them.

        Where sessions are made, Spark puts the rows of one partition behind those of another.

        Raises:
            RuntimeFailure: the engine does not number partitions (STATEPLAN_NOT_EXACT).
        """
        if not isinstance(node.spec, SessionSpec) or not _joins_streams(node):
            return
        for function in (one.aggregate.function for one in node.spec.functions):
            if function.spec.order_sensitive:
                raise not_exact(
                    f"{function.name} of sessions over a union",
                    "it depends on the order of rows of several partitions",
                    function,
                )

    def _sort(self, order: Iterable[SortOrder]) -> None:
        for one in order:
            way = "asc" if one.ascending else "desc"
            nulls = "first" if one.nulls_first else "last"
            self.step(f"sort {way} nulls {nulls}", [one.data_type])

    def step(self, step: str, types: Sequence[DataType]) -> None:
        """Check a step, by its name in the table, over keys of some types.

        Raises:
            RuntimeFailure: the engine does it otherwise (STATEPLAN_NOT_EXACT).
        """
        for reason in self._exactness.step_disagreements(step, types, self._facts.conf):
            raise not_exact(f"the step '{step}'", reason)

    def reader(self, name: str, columns: Sequence[AttributeReference]) -> None:
        """Check the reader of a source or table, of which some columns are read.

        Raises:
            RuntimeFailure: the engine reads otherwise (STATEPLAN_NOT_EXACT).
        """
        reader = self._facts.readers.get(name)
        if reader is None or reader.here:
            return
        if reader.format in COLUMNAR_FORMATS:
            names = {column.name for column in columns}
            fields = tuple(field for field in reader.schema.fields if field.name in names)
            reader = replace(reader, schema=StructType(fields))
        for reason in self._exactness.reader_disagreements(reader, self._facts.conf):
            raise not_exact(f"reading '{name}'", reason)


def _joins_streams(node: RuntimeNode) -> bool:
    """Whether rows of several inputs come together right below a kernel."""
    below = [child for child in node.children if not isinstance(child, Kernel)]
    return any(
        isinstance(child, Union)
        or (isinstance(child, AsIs) and isinstance(child.operator, UnionExec))
        or _joins_streams(child)
        for child in below
    )


def _stops_observing(node: RuntimeNode) -> bool:
    """Whether event times are observed below a limit, with nothing between that reads them all."""
    below = [child for child in node.children if not isinstance(child, Kernel | Exchange)]
    return any(isinstance(child, ObserveEventTime) or _stops_observing(child) for child in below)


def not_exact(what: str, reason: str, expression: Expression | None = None) -> RuntimeFailure:
    """The refusal of what the engine does not do as Spark does; an expression has a place."""
    place = ""
    origin = None if expression is None else expression.origin
    if origin is not None:
        file = f"{origin.file}:" if origin.file else "line "
        place = f" ({file}{origin.line})"
    return RuntimeFailure(
        "STATEPLAN_NOT_EXACT",
        f"The embedded engine does not compute {what}{place} as Spark does: {reason}.",
        hint="Run the query on Spark: --engine spark, or engine='spark' in Python.",
    )
