"""What a stateful operator knows of its state.

Spark keeps the state of `transformWithState` in column families of RocksDB. A variable has a family
of its own, and some that Spark keeps for itself: how many elements a list has, and by which time
what expires. Timers are there twice, by key and by time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from ..planner.model.frozen import dataclass
from ..planner.model.schemas.types import LONG, NULL, StructField, StructType

UNKNOWN_CHECKPOINT = "<unknown>"
NO_WATERMARK = -(2**63)  # Long.MinValue: before a query starts


@dataclass(frozen=True)
class StateStoreSchema:
    """One store of a stateful operator, and the columns of its rows' keys and values."""

    name: str
    key: StructType
    value: StructType


@dataclass(frozen=True, kw_only=True)
class StatefulOperatorStateInfo:
    """Where one stateful operator keeps its state, and which version of it a batch reads.

    Attributes:
        checkpoint_location: the checkpoint's `state` directory, or `<unknown>` before a start.
        run_id: the run's UUID.
        operator_id: counts from the sink, 0 first.
        version: the batch id whose state this batch starts from (batch N reads version N).
        num_partitions: the number of logical stores.
    """

    checkpoint_location: str
    run_id: str
    operator_id: int
    version: int
    num_partitions: int

    @property
    def text(self) -> str:
        """The form in plans."""
        return (
            f"state info [ checkpoint = {self.checkpoint_location}, runId = {self.run_id}, "
            f"opId = {self.operator_id}, ver = {self.version}, "
            f"numPartitions = {self.num_partitions}] stateStoreCkptIds = None"
        )


STATE_KINDS = {"value": "ValueState", "list": "ListState", "map": "MapState"}
"""What a checkpoint calls the kinds of variables."""
VariableKind = Literal["value", "list", "map"]
_TTL_MS = StructField("ttlExpirationMs", LONG)
_COUNT = StructType((StructField("count", LONG),))
_EXPIRATION = StructField("expirationMs", LONG)
_EXPIRY = StructField("expiryTimestampMs", LONG, False)
_NOTHING = StructType((StructField("__empty__", NULL),))
_DUMMY = StructType((StructField("__dummy__", NULL),))


@dataclass(frozen=True, kw_only=True)
class KeyForm:
    """How keys stand in a store, so that RocksDB sorts them as Spark reads them.

    Attributes:
        prefix: how many columns stand first, in a row of their own: what state is scanned by.
        ranged: whether this prefix is a long that rows are sorted by.
    """

    prefix: int = 0
    ranged: bool = False


_PLAIN, _BY_KEY, _BY_TIME = KeyForm(), KeyForm(prefix=1), KeyForm(prefix=1, ranged=True)


@dataclass(frozen=True, kw_only=True)
class StateVariable:
    """A state variable, as a processor declares it.

    Attributes:
        name, kind: its own.
        value: the columns of a value.
        user_key: those of a map's keys.
        expires: whether it has a time to live.
    """

    name: str
    kind: VariableKind
    value: StructType
    user_key: StructType | None = None
    expires: bool = False


@dataclass(frozen=True)
class Family(StateStoreSchema):
    """A column family; the names of Spark's own begin with `$`.

    Attributes:
        form: how its keys stand in the store.
        merged: whether a key may have several values, one behind the other.
        user_key: what the keys of a map hold.
    """

    form: KeyForm = _PLAIN
    merged: bool = False
    user_key: StructType | None = None


def families_of(
    variables: Iterable[StateVariable], key: StructType, time_mode: str
) -> tuple[Family, ...]:
    """The column families of a processor's variables and timers.

    Args:
        variables: what it declares.
        key: the columns that it groups by.
        time_mode: its time mode.
    """
    own = [family for variable in variables for family in _of_variable(variable, key)]
    return (*own, *_of_timers(time_mode, key))


def _of_variable(variable: StateVariable, key: StructType) -> Iterator[Family]:
    name, value, user_key, entry = variable.name, variable.value, variable.user_key, key
    form = _PLAIN
    if variable.expires:
        value = StructType((StructField("value", value), _TTL_MS))
    if user_key is not None:
        form = _BY_KEY
        entry = StructType((StructField("key", key), StructField("userKey", user_key)))
    yield Family(name, entry, value, form, variable.kind == "list", user_key)
    if variable.kind == "list":
        yield Family(f"$rowCounter_{name}", key, _COUNT)
    if variable.expires:
        expiring = StructType((_EXPIRATION, StructField("elementKey", entry)))
        yield Family(f"$ttl_{name}", expiring, _NOTHING, _BY_TIME)
        if variable.kind == "list":
            yield Family(f"$min_{name}", key, StructType((_EXPIRATION,)))
            yield Family(f"$count_{name}", key, _COUNT)


def timers_prefix(time_mode: str) -> str | None:
    """How the names of the families of timers begin; None: a processor of this mode has none."""
    names = {"ProcessingTime": "$procTimers_", "EventTime": "$eventTimers_"}
    return names.get(time_mode)


def _of_timers(time_mode: str, key: StructType) -> Iterator[Family]:
    prefix, own = timers_prefix(time_mode), StructField("key", key)
    if prefix is not None:
        by_key, by_time = StructType((own, _EXPIRY)), StructType((_EXPIRY, own))
        yield Family(f"{prefix}keyToTimestamp", by_key, _DUMMY, _BY_KEY)
        yield Family(f"{prefix}timestampToKey", by_time, _DUMMY, _BY_TIME)
