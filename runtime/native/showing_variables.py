"""State of Spark's `transformWithState`, for `stateplan state show`: its variables and its timers.

Each variable is a column family of RocksDB, which Spark's `statestore` source reads by the
variable's name; Spark's `state-metadata` source has the names.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from ...physical.state import STATE_KINDS
from ...planner.evolution.stored import Field, StoredSchema
from ...planner.model.errors import RuntimeFailure
from ...planner.model.schemas.types import STRING
from ..inspection.columns import StateColumn
from ..state.parts import TIMERS
from .operators import fit
from .showing_rows import Found, NativeState
from .stores import COLUMNS, TIMES, operator_properties, spark_table, state_frame
from .unsafe_reading import stored_type

OPERATORS = "transformWithState"
"""How the names of Spark's operators begin that keep variables."""
_COLUMNS = {
    **{STATE_KINDS[kind]: columns for kind, columns in COLUMNS.items()},
    "TimerState": (TIMES,),
}


class NativeVariables(NativeState):
    """The variables of one processor at one version: a row for each value, element and entry.

    The column `variable` has the variable's name, or `timers`; the key's columns follow, then for
    each variable the columns that Spark's `statestore` source gives, behind the variable's name.
    """

    label = "variable"

    @cached_property
    def _kinds(self) -> Mapping[str, str]:
        """What each variable is, by name, as the operator's metadata lists them."""
        kinds: dict[str, str] = {}
        for variable in operator_properties(self.checkpoint, self.stored.id, self._spark).get(
            "stateVariables", ()
        ):
            kind = variable["stateVariableType"]
            if kind not in _COLUMNS:
                raise RuntimeFailure(
                    "STATEPLAN_STATE_NOT_READ",
                    f"The variable '{variable['stateName']}' of operator {self.stored.id} in "
                    f"'{self.checkpoint.root}' is of a kind that is not known here: {kind}.",
                    hint='Read it with spark.read.format("statestore").load(checkpoint).',
                )
            kinds[variable["stateName"]] = kind
        return kinds

    def _is_of_timers(self, store: str) -> bool:
        return self._kinds[store] == "TimerState"

    @cached_property
    def _stores(self) -> Mapping[str, StoredSchema]:
        return {name: self._schema_of(name) for name in self._kinds}

    def _options(self, name: str) -> dict[str, str]:
        if self._is_of_timers(name):
            return {"readRegisteredTimers": "true"}
        return {"stateVarName": name, "flattenCollectionTypes": "true"}

    def _schema_of(self, name: str) -> StoredSchema:
        frame = state_frame(self.checkpoint, self.stored.id, self._spark, self._options(name))
        fields: dict[str, Field] = {f["name"]: f for f in frame.schema.jsonValue()["fields"]}
        key = fields["key"]["type"]["fields"]
        return StoredSchema(tuple(key), tuple(fields[c] for c in _COLUMNS[self._kinds[name]]))

    def _prefix(self, store: str) -> str:
        return "" if self._is_of_timers(store) else f"{store}_"

    def _name(self, store: str) -> str:
        return TIMERS if self._is_of_timers(store) else store

    @property
    def _labels(self) -> tuple[StateColumn, ...]:
        return (StateColumn("key", self.label, STRING, ""),)

    def _part(self, store: str, schema: StoredSchema) -> Found:
        columns = ("partition_id", "key", *_COLUMNS[self._kinds[store]])
        options = self._options(store)
        batch = self.version - 1
        table = spark_table(
            self.checkpoint, self.stored.id, self._spark, options, columns, batch=batch
        )
        owners, keys, *values = (column.combine_chunks() for column in table.columns)
        fields = (*schema.key, *schema.value)
        found = [
            fit(column, stored_type(self._type(field)))
            for column, field in zip((*keys.flatten(), *values), fields, strict=True)
        ]
        return Found(owners, found, sum(column.nbytes for column in found))

    def _count_keys(self, rows: int) -> int:
        """The keys of all variables: a list has a row for each element, a map for each entry."""
        found: set[str] = set()
        for store, part in self._parts.items():
            keys = part.columns[: len(self._stores[store].key)]
            found.update(map(repr, zip(*(column.to_pylist() for column in keys), strict=True)))
        return len(found)
