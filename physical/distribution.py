"""What an operator requires of its child's rows, and what a child provides.

Distribution (required)                     Partitioning (provided) that satisfies it
UnspecifiedDistribution                     any
AllTuples                                   SinglePartition
ClusteredDistribution(keys)                 SinglePartition; HashPartitioning(k), k within keys
StatefulOpClusteredDistribution(keys, n)    HashPartitioning(keys, n) exactly
OrderedDistribution(order)                  SinglePartition; RangePartitioning with that prefix
"""

from __future__ import annotations

from dataclasses import dataclass

from ..planner.model.expressions import Expression, SortOrder


@dataclass(frozen=True)
class Partitioning:
    """Where an operator's rows lie."""

    num_partitions: int


@dataclass(frozen=True)
class UnknownPartitioning(Partitioning):
    """Nothing is known."""

    num_partitions: int = 0


@dataclass(frozen=True)
class SinglePartition(Partitioning):
    """All rows in one partition."""

    num_partitions: int = 1


@dataclass(frozen=True)
class HashPartitioning(Partitioning):
    """A row lies in partition `pmod(hash(keys), num_partitions)`."""

    keys: tuple[Expression, ...] = ()


@dataclass(frozen=True)
class RangePartitioning(Partitioning):
    """Partitions hold consecutive ranges of the order."""

    order: tuple[SortOrder, ...] = ()


class Distribution:
    """Base of what an operator may require of its child."""


@dataclass(frozen=True)
class UnspecifiedDistribution(Distribution):
    """Any placement will do."""


@dataclass(frozen=True)
class AllTuples(Distribution):
    """All rows in a single partition."""


@dataclass(frozen=True)
class ClusteredDistribution(Distribution):
    """Rows with equal keys together."""

    keys: tuple[Expression, ...]


@dataclass(frozen=True)
class StatefulOpClusteredDistribution(Distribution):
    """Rows with equal keys in the partition that their hash says, of exactly so many."""

    keys: tuple[Expression, ...]
    num_partitions: int


@dataclass(frozen=True)
class OrderedDistribution(Distribution):
    """A total order over the partitions."""

    order: tuple[SortOrder, ...]
