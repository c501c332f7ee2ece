"""The state variables of a processor, as its `init` declares them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import pyarrow as pa

from ...state.parts import TIMERS, variable_part
from ...state.run import Layout
from ..errors import KernelError
from .values import arrow_of

Kind = Literal["value", "list", "map"]
EXPIRY = pa.field("expiry", pa.int64())


@dataclass(frozen=True, kw_only=True)
class Variable:
    """A state variable.

    Its rows hold the value; of a map the key before it; with a time to live, when they expire.

    Attributes:
        name, kind: its own.
        value: the schema of a value, as PySpark's JSON.
        key: that of a map's keys.
        ttl_ms: how long a value lives after it was written; None: for ever.
    """

    name: str
    kind: Kind
    value: str
    key: str = ""
    ttl_ms: int | None = None

    @property
    def part(self) -> str:
        """The part of the state that has its rows."""
        return variable_part(self.name)

    @cached_property
    def value_schema(self) -> Any:
        """The schema of a value in PySpark's classes."""
        return _schema(self.value)

    @cached_property
    def key_schema(self) -> Any:
        """The schema of a map's keys in PySpark's classes."""
        return _schema(self.key)

    def layout(self, keys: Any, evolves: Literal["name", "place"]) -> Layout:
        """What its rows hold; how those that were written under an older schema become these."""
        schemas = [self.key_schema] if self.kind == "map" else []
        schemas.append(self.value_schema)
        fields = [pa.field(f"v{i}", arrow_of(schema)) for i, schema in enumerate(schemas)]
        if self.ttl_ms is not None:
            fields.append(EXPIRY)
        return Layout(keys, pa.schema(fields), self.ttl_ms is not None, evolves=evolves)


def timers_layout(keys: Any) -> Layout:
    """What the rows of timers hold: in milliseconds when they expire."""
    return Layout(keys, pa.schema([EXPIRY]), True)


def layouts(
    variables: tuple[Variable, ...], keys: Any, time_mode: str, *, by_name: bool
) -> dict[str, Layout]:
    """What the rows of each part of a processor's state hold."""
    evolves: Literal["name", "place"] = "name" if by_name else "place"
    found = {variable.part: variable.layout(keys, evolves) for variable in variables}
    if time_mode != "NoTime":
        found[TIMERS] = timers_layout(keys)
    return found


def _schema(text: str) -> Any:
    from pyspark.sql.types import StructType

    return StructType.fromJson(json.loads(text))


class Declared:
    """The variables that a processor has declared so far.

    Args:
        time_mode: NoTime, ProcessingTime or EventTime.

    Attributes:
        deleted: the names of those that it deletes.
        taken_back: how many of them it has declared itself.
    """

    def __init__(self, time_mode: str) -> None:
        self._time_mode = time_mode
        self.variables: dict[str, Variable] = {}
        self.deleted: list[str] = []
        self.taken_back = 0

    def add(self, variable: Variable) -> Variable:
        """Take in a declaration.

        Raises:
            KernelError: it is refused, as Spark does.
        """
        name = variable.name
        if name in self.variables:
            raise KernelError.of(
                "STATEFUL_PROCESSOR_DUPLICATE_STATE_VARIABLE_DEFINED", stateVarName=name
            )
        if variable.ttl_ms is not None and self._time_mode != "ProcessingTime":
            raise KernelError.of(
                "STATEFUL_PROCESSOR_INCORRECT_TIME_MODE_TO_ASSIGN_TTL",
                stateName=name,
                timeMode=self._time_mode,
            )
        if variable.ttl_ms is not None and variable.ttl_ms <= 0:
            raise KernelError.of(
                "STATEFUL_PROCESSOR_TTL_DURATION_MUST_BE_POSITIVE",
                operationType="update",
                stateName=name,
            )
        if not name or name != name.strip() or name == "default":
            raise KernelError.of(
                "STATE_STORE_CANNOT_USE_COLUMN_FAMILY_WITH_INVALID_NAME",
                operationName="create_col_family",
                colFamilyName=name,
            )
        if name.startswith(("$", "_")):
            raise KernelError.of(
                "STATE_STORE_CANNOT_CREATE_COLUMN_FAMILY_WITH_RESERVED_CHARS", colFamilyName=name
            )
        self.variables[name] = variable
        return variable

    def delete(self, name: str) -> None:
        """Take in that a variable goes, and what an earlier run of the query kept of it."""
        self.deleted.append(name)
        self.taken_back += self.variables.pop(name, None) is not None
