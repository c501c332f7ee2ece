"""What an operator requires of its child's rows, and what a child provides.

Distribution (required)                     Partitioning (provided) that satisfies it
UnspecifiedDistribution                     any
AllTuples                                   any of one partition
ClusteredDistribution(keys)                 SinglePartition; HashPartitioning(k), k within keys
StatefulOpClusteredDistribution(keys, n)    HashPartitioning(keys, n) exactly
OrderedDistribution(order)                  SinglePartition; RangePartitioning with that prefix
BroadcastDistribution(mode)                 BroadcastPartitioning(mode)

A distribution with a required number of partitions is satisfied by exactly that number only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..planner.model.expressions.core import (
    AttributeReference,
    Expression,
    SortOrder,
    to_attribute,
    without_alias,
)
from ..planner.model.expressions.equality import Canonical, all_same, canonical
from ..planner.model.frozen import dataclass
from ..planner.model.plans.join_types import JoinType
from ..planner.model.text.text import plan_text
from ..planner.model.tree import replace


def ordering_satisfies(given: Sequence[SortOrder], required: Sequence[SortOrder]) -> bool:
    """Whether rows in the given order are in the required one, its prefix."""
    return len(required) <= len(given) and all(
        order.ascending == wanted.ascending
        and order.nulls_first == wanted.nulls_first
        and canonical(wanted.child) in map(canonical, _keys(order))
        for order, wanted in zip(given, required, strict=False)
    )


def _keys(order: SortOrder) -> tuple[Expression, ...]:
    """Everything that the rows are in order of."""
    return (order.child, *order.same)


# -------------------------------------------------------------------------------- required


class Distribution:
    """Base of what an operator may require of its child.

    Attributes:
        required_num_partitions: the exact number of partitions that is required, if one is.
    """

    required_num_partitions: int | None = None

    def create_partitioning(self, num_partitions: int) -> Partitioning:
        """The partitioning that an exchange gives to satisfy the requirement."""
        raise NotImplementedError(type(self).__name__)


@dataclass(frozen=True)
class UnspecifiedDistribution(Distribution):
    """Any placement will do."""


@dataclass(frozen=True)
class AllTuples(Distribution):
    """All rows in a single partition."""

    required_num_partitions = 1

    def create_partitioning(self, num_partitions: int) -> Partitioning:
        return SinglePartition()


@dataclass(frozen=True)
class ClusteredDistribution(Distribution):
    """Rows with equal keys together, in so many partitions if a number is given."""

    keys: tuple[Expression, ...]
    required_num_partitions: int | None = None

    def create_partitioning(self, num_partitions: int) -> Partitioning:
        return HashPartitioning(num_partitions, self.keys)


@dataclass(frozen=True)
class StatefulOpClusteredDistribution(Distribution):
    """Rows with equal keys in the partition that their hash says, of exactly so many."""

    keys: tuple[Expression, ...]
    required_num_partitions: int

    def create_partitioning(self, num_partitions: int) -> Partitioning:
        return HashPartitioning(num_partitions, self.keys)


@dataclass(frozen=True)
class OrderedDistribution(Distribution):
    """A total order over the partitions."""

    order: tuple[SortOrder, ...]

    def create_partitioning(self, num_partitions: int) -> Partitioning:
        return RangePartitioning(num_partitions, self.order)


@dataclass(frozen=True)
class BroadcastMode:
    """The form in which every task gets all rows."""

    @property
    def text(self) -> str:
        """The form in plans."""
        return type(self).__name__


@dataclass(frozen=True)
class IdentityBroadcastMode(BroadcastMode):
    """The rows as they are."""


@dataclass(frozen=True)
class HashedRelationBroadcastMode(BroadcastMode):
    """A hash table by some keys, which are bound to the rows' positions."""

    keys: tuple[Expression, ...]
    null_aware: bool = False

    @property
    def text(self) -> str:
        keys = ", ".join(map(plan_text, self.keys))
        return f"HashedRelationBroadcastMode(List({keys}),{str(self.null_aware).lower()})"


@dataclass(frozen=True)
class BroadcastDistribution(Distribution):
    """All rows in every task."""

    mode: BroadcastMode


def clustered(keys: tuple[Expression, ...]) -> Distribution:
    """A group's rows in one place; without keys all rows are a group."""
    return ClusteredDistribution(keys) if keys else AllTuples()


def stateful_distribution(
    keys: tuple[Expression, ...], num_partitions: int, strict: bool
) -> Distribution:
    """What state that is kept by key requires: hashed exactly so, or only clustered if not strict.

    Without keys there is one group, so all rows go to one partition.
    """
    if not keys:
        return AllTuples()
    if strict:
        return StatefulOpClusteredDistribution(keys, num_partitions)
    return ClusteredDistribution(keys, num_partitions)


# -------------------------------------------------------------------------------- provided


@dataclass(frozen=True)
class Partitioning:
    """Where an operator's rows lie."""

    num_partitions: int

    def satisfies(self, required: Distribution) -> bool:
        """Whether rows that lie so meet the requirement."""
        number = required.required_num_partitions
        return (number is None or number == self.num_partitions) and self._meets(required)

    def _meets(self, required: Distribution) -> bool:
        match required:
            case UnspecifiedDistribution():
                return True
            case AllTuples():
                return self.num_partitions == 1
            case _:
                return False


@dataclass(frozen=True)
class UnknownPartitioning(Partitioning):
    """Nothing is known."""

    num_partitions: int = 0


@dataclass(frozen=True)
class SinglePartition(Partitioning):
    """All rows in one partition."""

    num_partitions: int = 1

    def _meets(self, required: Distribution) -> bool:
        return not isinstance(required, BroadcastDistribution)


@dataclass(frozen=True)
class BroadcastPartitioning(Partitioning):
    """Every task has all rows."""

    num_partitions: int = 1
    mode: BroadcastMode = IdentityBroadcastMode()

    def _meets(self, required: Distribution) -> bool:
        match required:
            case BroadcastDistribution(mode=mode):
                return mode == self.mode
            case _:
                return super()._meets(required)


@dataclass(frozen=True)
class HashPartitioning(Partitioning):
    """A row lies in partition `pmod(hash(keys), num_partitions)`."""

    keys: tuple[Expression, ...] = ()

    def _meets(self, required: Distribution) -> bool:
        match required:
            case StatefulOpClusteredDistribution(keys=keys):
                return all_same(self.keys, keys)
            case ClusteredDistribution(keys=keys):
                wanted = [canonical(k) for k in keys]
                return all(canonical(k) in wanted for k in self.keys)
            case _:
                return super()._meets(required)


@dataclass(frozen=True)
class RoundRobinPartitioning(Partitioning):
    """Rows are dealt out one by one."""


@dataclass(frozen=True)
class RangePartitioning(Partitioning):
    """Partitions hold consecutive ranges of the order."""

    order: tuple[SortOrder, ...] = ()

    def _meets(self, required: Distribution) -> bool:
        match required:
            case OrderedDistribution(order=order):
                short = min(len(order), len(self.order))
                return all_same(self.order[:short], order[:short])
            case ClusteredDistribution(keys=keys):
                wanted = [canonical(k) for k in keys]
                return all(canonical(o.child) in wanted for o in self.order)
            case _:
                return super()._meets(required)


@dataclass(frozen=True)
class PartitioningCollection(Partitioning):
    """One placement in several forms: a key that has two names, say."""

    options: tuple[Partitioning, ...] = ()

    def _meets(self, required: Distribution) -> bool:
        return any(option.satisfies(required) for option in self.options)


def join_partitioning(join_type: JoinType, left: Partitioning, right: Partitioning) -> Partitioning:
    """Where the rows of a join lie whose sides are placed alike by the keys."""
    match join_type:
        case "Inner" | "Cross":
            return PartitioningCollection(left.num_partitions, (left, right))
        case "FullOuter":
            return UnknownPartitioning(left.num_partitions)
        case _:
            return right if join_type == "RightOuter" else left


# ------------------------------------------------------------------- through a projection

_MAX_OPTIONS = 100  # spark.sql.optimizer.expressionProjectionCandidateLimit


def _names(results: Sequence[Expression]) -> dict[Canonical, list[AttributeReference]]:
    """Each expression that the results give a column to, with those columns."""
    names: dict[Canonical, list[AttributeReference]] = {}
    for result in results:
        child = without_alias(result)
        names.setdefault(canonical(child), []).append(to_attribute(result))
    return names


def _renamed(
    keys: Sequence[Expression], names: Mapping[Canonical, Sequence[AttributeReference]]
) -> list[tuple[Expression, ...]]:
    """All forms of the keys in the new columns; none if a key is gone."""
    forms: list[tuple[Expression, ...]] = [()]
    for key in keys:
        forms = [(*form, new) for form in forms for new in _renamed_key(key, names)]
    return forms[:_MAX_OPTIONS]


def _renamed_key(
    key: Expression, names: Mapping[Canonical, Sequence[AttributeReference]]
) -> list[Expression]:
    """All forms of one key: as a column that has its value, or computed from the columns."""
    whole: list[Expression] = list(names.get(canonical(key), ()))
    if not key.children:
        return whole if whole or isinstance(key, AttributeReference) else [key]
    return whole + [key.with_new_children(form) for form in _renamed(key.children, names)]


def project_partitioning(given: Partitioning, results: Sequence[Expression]) -> Partitioning:
    """The partitioning of a projection's output: the child's, in terms of the output's columns."""
    if not isinstance(given, HashPartitioning | RangePartitioning | PartitioningCollection):
        return given  # says nothing of columns
    options = given.options if isinstance(given, PartitioningCollection) else (given,)
    names = _names(results)
    found: list[Partitioning] = []
    for option in options:
        match option:
            case HashPartitioning(num_partitions=number, keys=keys):
                found.extend(HashPartitioning(number, form) for form in _renamed(keys, names))
            case RangePartitioning(num_partitions=number, order=order):
                forms = _renamed([o.child for o in order], names)
                found.extend(RangePartitioning(number, _reordered(order, form)) for form in forms)
            case _:
                found.append(option)
    if not found:
        return UnknownPartitioning(given.num_partitions)
    return (
        found[0] if len(found) == 1 else PartitioningCollection(given.num_partitions, tuple(found))
    )


def _reordered(order: Sequence[SortOrder], keys: Sequence[Expression]) -> tuple[SortOrder, ...]:
    return tuple(replace(o, child=key) for o, key in zip(order, keys, strict=True))


def project_ordering(
    given: Sequence[SortOrder], results: Sequence[Expression]
) -> tuple[SortOrder, ...]:
    """The order of a projection's output: the longest prefix of the child's that it still has."""
    if not given:
        return ()
    names = _names(results)
    kept: list[SortOrder] = []
    for order in given:
        columns = [c for key in _keys(order) for c in names.get(canonical(key), ())]
        if not columns:
            break
        kept.append(replace(order, child=columns[0], same=tuple(columns[1:])))
    return tuple(kept)
