"""What a processor is given: PySpark's own classes over the state of a task.

A call that Spark's state server does not survive ends the batch, also where the user's code
catches what it raises: as natively, where all later calls fail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

from pyspark.errors import PySparkRuntimeError
from pyspark.serializers import CPickleSerializer
from pyspark.sql.streaming.stateful_processor import (
    ListState,
    MapState,
    StatefulProcessorHandle,
    ValueState,
)
from pyspark.sql.streaming.stateful_processor_api_client import StatefulProcessorApiClient
from pyspark.sql.types import Row, StructType

from ..errors import KernelError
from .tables import Table, Timers
from .values import stored
from .variables import Declared, Kind, Variable


class Client(StatefulProcessorApiClient):
    """PySpark's client without its connection: it says how values are sent."""

    def __init__(self) -> None:
        self.pickleSer = CPickleSerializer()

    def sent(self, schema: Any, value: Any) -> tuple[Any, ...]:
        """A user's value in its internal form.

        Raises:
            KernelError: it has another number of fields.
        """
        serializer: Any = self.pickleSer
        found = serializer.loads(self._serialize_to_bytes(schema, value))
        return tuple(stored(found, schema))


CLIENT = Client()


class Task(Protocol):
    """What a handle asks of the task that it is for."""

    declared: Declared
    timers: Timers | None
    time_mode: str
    state: str
    place: int | None

    def table(self, variable: Variable) -> Table:
        """The rows of a variable."""

    def fail(self, error: KernelError) -> KernelError:
        """Note an error that ends the batch, even if the user's code catches it."""


class Handle(StatefulProcessorHandle):
    """The handle of a task.

    Args:
        task: the task.
        parse: makes a schema of a text.
    """

    def __init__(self, task: Task, parse: Callable[[str], Any]) -> None:
        self._task, self._parse = task, parse

    def getValueState(
        self, stateName: str, schema: StructType | str, ttlDurationMs: int | None = None
    ) -> ValueState:
        return OneValue(self._task, self._declare("value", stateName, schema, ttlDurationMs))

    def getListState(
        self, stateName: str, schema: StructType | str, ttlDurationMs: int | None = None
    ) -> ListState:
        return Values(self._task, self._declare("list", stateName, schema, ttlDurationMs))

    def getMapState(
        self,
        stateName: str,
        userKeySchema: StructType | str,
        valueSchema: StructType | str,
        ttlDurationMs: int | None = None,
    ) -> MapState:
        variable = self._declare("map", stateName, valueSchema, ttlDurationMs, userKeySchema)
        return Pairs(self._task, variable)

    def _declare(
        self, kind: Kind, name: str, value: Any, ttl_ms: int | None, key: Any = None
    ) -> Variable:
        self._check(f"get_{kind}_state", ("PRE_INIT", "CREATED"))
        variable = Variable(
            name=name,
            kind=kind,
            value=self._text(value),
            key="" if key is None else self._text(key),
            # In Python no time to live and one of no length are the same.
            ttl_ms=ttl_ms or None,
        )
        try:
            return self._task.declared.add(variable)
        except KernelError as error:
            raise self._task.fail(error) from None

    def _text(self, schema: Any) -> str:
        found = self._parse(schema) if isinstance(schema, str) else schema
        return str(found.json())

    def registerTimer(self, expiryTimestampMs: int) -> None:
        timers, place = self._timers("register_timer")
        timers.register(place, expiryTimestampMs)

    def deleteTimer(self, expiryTimestampMs: int) -> None:
        timers, place = self._timers("delete_timer")
        timers.delete(place, expiryTimestampMs)

    def listTimers(self) -> Iterator[int]:
        timers, place = self._timers("list_timers")
        return iter(timers.of(place))

    def _timers(self, operation: str) -> tuple[Timers, int]:
        task = self._task
        if task.time_mode == "NoTime":
            condition = "STATEFUL_PROCESSOR_CANNOT_PERFORM_OPERATION_WITH_INVALID_TIME_MODE"
            found = KernelError.of(condition, operationType=operation, timeMode=task.time_mode)
            raise task.fail(found)
        self._check(operation, ("INITIALIZED", "DATA_PROCESSED"))
        assert task.timers is not None
        return task.timers, place_of(task, "$timers")

    def deleteIfExists(self, stateName: str) -> None:
        self._check("delete_if_exists", ("PRE_INIT", "CREATED"))
        self._task.declared.delete(stateName)

    def _check(self, operation: str, states: tuple[str, ...]) -> None:
        if self._task.state not in states:
            condition = "STATEFUL_PROCESSOR_CANNOT_PERFORM_OPERATION_WITH_INVALID_HANDLE_STATE"
            state = self._task.state
            found = KernelError.of(condition, operationType=operation, handleState=state)
            raise self._task.fail(found)


def place_of(task: Task, name: str) -> int:
    """The key that a call is for.

    Raises:
        KernelError: the processor runs for no key, as in `init`.
    """
    if task.place is None:
        message = f"Implicit key not found in state store for stateName={name}"
        raise task.fail(KernelError.of("INTERNAL_ERROR_TWS", message=message))
    return task.place


class _State:
    """The state of one variable."""

    def __init__(self, task: Task, variable: Variable) -> None:
        self._task, self._variable = task, variable

    @property
    def _table(self) -> Table:
        return self._task.table(self._variable)

    @property
    def _deleted(self) -> bool:
        """Whether `init` has deleted the variable again."""
        return self._variable.name not in self._task.declared.variables

    def _at(self, doing: str) -> int:
        """The key that a call is for.

        Raises:
            PySparkRuntimeError: the variable is deleted; in PySpark's words.
            KernelError: the processor runs for no key.
        """
        name, kind = self._variable.name, self._variable.kind.capitalize()
        if self._deleted:
            raise PySparkRuntimeError(f"Error {doing}: {kind} state {name} is not initialized.")
        return place_of(self._task, name)

    def exists(self) -> bool:
        place = self._at(f"checking {self._variable.kind} state exists")
        return bool(self._table.alive(place))

    def clear(self) -> None:
        kind = "map" if self._variable.kind == "map" else "value"
        place = self._at(f"clearing {kind} state")
        self._table.clear(place)

    def _value(self, value: Any) -> tuple[Any, ...]:
        return self._sent(self._variable.value_schema, value)

    def _key(self, key: Any) -> tuple[Any, ...]:
        return self._sent(self._variable.key_schema, key)

    def _sent(self, schema: Any, value: Any) -> tuple[Any, ...]:
        try:
            return CLIENT.sent(schema, value)
        except KernelError as error:
            raise self._task.fail(error) from None

    def _shown(self, value: tuple[Any, ...]) -> Row:
        return _row(self._variable.value_schema, value)


class OneValue(_State, ValueState):
    """A single value."""

    def get(self) -> tuple[Any, ...] | None:
        place = self._at("getting value state")
        found = self._table.alive(place)
        return tuple(self._shown(found[0].value)) if found else None

    def update(self, newValue: tuple[Any, ...]) -> None:
        place, value = self._at("updating value state"), self._value(newValue)
        self._table.put(place, [value])


class Values(_State, ListState):
    """A list."""

    def get(self) -> Iterator[tuple[Any, ...]]:
        if self._deleted:  # where PySpark looks for an end it finds one
            return iter(())
        place = self._at("getting values")

        def elements() -> Iterator[tuple[Any, ...]]:
            # What is there when the first one is asked for.
            for entry in list(self._table.alive(place)):
                yield tuple(self._shown(entry.value))

        return elements()

    def put(self, newState: list[tuple[Any, ...]]) -> None:
        place = self._at("updating value state")
        self._table.put(place, self._all(newState))

    def appendValue(self, newState: tuple[Any, ...]) -> None:
        place = self._at("updating value state")
        self._table.append(place, [self._value(newState)])

    def appendList(self, newState: list[tuple[Any, ...]]) -> None:
        place = self._at("updating value state")
        self._table.append(place, self._all(newState))

    def _all(self, values: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        found = list(map(self._value, values))
        if not found:
            condition = "ILLEGAL_STATE_STORE_VALUE.EMPTY_LIST_VALUE"
            raise self._task.fail(KernelError.of(condition, stateName=self._variable.name))
        return found


class Pairs(_State, MapState):
    """A map."""

    def getValue(self, key: tuple[Any, ...]) -> Row | None:
        place, wanted = self._at("getting value"), self._key(key)
        alive = self._table.alive(place)
        return next((self._shown(e.value) for e in alive if e.key == wanted), None)

    def containsKey(self, key: tuple[Any, ...]) -> bool:
        place = self._at("checking if map state contains key")
        wanted = self._key(key)
        return any(entry.key == wanted for entry in self._table.alive(place))

    def updateValue(self, key: tuple[Any, ...], value: tuple[Any, ...]) -> None:
        place = self._at("updating map state value")
        self._table.set(place, self._key(key), self._value(value))

    def removeKey(self, key: tuple[Any, ...]) -> None:
        place = self._at("removing key from map state")
        self._table.unset(place, self._key(key))

    def iterator(self) -> Iterator[tuple[tuple[Any, ...], tuple[Any, ...]]]:
        if self._deleted:
            return iter(())
        place = self._at("getting pairs")

        def pairs() -> Iterator[tuple[tuple[Any, ...], tuple[Any, ...]]]:
            for entry in self._table.pairs(place):
                key = _row(self._variable.key_schema, entry.key or ())
                yield tuple(key), tuple(self._shown(entry.value))

        return pairs()

    def keys(self) -> Iterator[tuple[Any, ...]]:
        return (key for key, _ in self.iterator())

    def values(self) -> Iterator[tuple[Any, ...]]:
        return (value for _, value in self.iterator())


def _row(schema: Any, value: tuple[Any, ...]) -> Row:
    """An internal value as users see it."""
    found = schema.fromInternal(value)
    assert isinstance(found, Row)
    return found
