"""The rows of one operator's state that Spark wrote, by the schema files beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from ...planner.evolution.stored import Field, StoredOperator, StoredSchema
from ...planner.model.errors import RuntimeFailure, StateplanError
from ...planner.model.schemas.schema_json import UnknownType, type_from_json
from ...planner.model.schemas.types import NULL, STRING, DataType, StructField, StructType
from ..engines.opening import open_session
from ..files import corrupt
from ..inspection.columns import StateColumn, unique_columns
from ..inspection.summary import StateSummary
from ..state import Location
from ..state.scan import EVENT_TIME, PARTITION, STAMP, Part
from .checkpoint import OtherCheckpoint
from .joins import NUMBERS, ROWS
from .operators import DEFAULT
from .stores import reads_here, rows_by_spark, written_rows
from .unsafe_reading import BadRow, read_rows, stored_type

UNKNOWN = "unknown"
_NO_VALUE = bytes([1, *[0] * 15])
"""The row of one null column."""
_RAW = StoredSchema(({"name": "key", "type": "binary"},), ({"name": "value", "type": "binary"},))


@dataclass(frozen=True)
class Found:
    """Rows of one store: which partition each is in, its columns, its bytes."""

    partitions: Any
    columns: list[Any]
    bytes: int


@dataclass(frozen=True, kw_only=True)
class NativeState:
    """One operator's state at one version, as Spark keeps it.

    Attributes:
        checkpoint: the checkpoint.
        stored: the operator.
        version: n is the state after batch n - 1.
    """

    checkpoint: OtherCheckpoint
    stored: StoredOperator
    version: int
    label: ClassVar[str] = "side"

    @property
    def _folder(self) -> Location:
        return self.checkpoint.root / "state" / str(self.stored.id)

    @cached_property
    def _stores(self) -> Mapping[str, StoredSchema]:
        """The stores that have rows of the operator, with their columns: of a join the sides'.

        Spark before 3.0 wrote no schemas: keys and values are bytes then.
        """
        known = dict(self.stored.stores)
        if not known:
            names = (self._folder / "0").names()
            named = [n for n in names if n.endswith((NUMBERS, ROWS))]
            known = dict.fromkeys(named or [DEFAULT], _RAW)
        sides = {name: known[name] for name in known if name.endswith(ROWS)}
        return sides or known

    @cached_property
    def _columns(self) -> tuple[list[StateColumn], dict[str, list[StateColumn]]]:
        """The columns of keys, which all stores share, and those of each store's values."""
        known = next(iter(self._stores.values()), None)
        keys = [self._column("key", field) for field in (known.key if known else ())]
        values = [
            (store, self._column("value", field, self._prefix(store)))
            for store, schema in self._stores.items()
            for field in schema.value
        ]
        columns = [*self._labels, *keys, *(column for _, column in values)]
        named = list(unique_columns(columns))[len(self._labels) :]
        found: dict[str, list[StateColumn]] = {store: [] for store in self._stores}
        for (store, _), column in zip(values, named[len(keys) :], strict=True):
            found[store].append(column)
        return named[: len(keys)], found

    @property
    def _labels(self) -> tuple[StateColumn, ...]:
        """The column that tells the stores apart, where there are several."""
        return (StateColumn("key", self.label, STRING, ""),) if len(self._stores) > 1 else ()

    def _prefix(self, store: str) -> str:
        """What the names of a store's columns begin with."""
        return f"{self._name(store)}_" if len(self._stores) > 1 else ""

    def _name(self, store: str) -> str:
        """What the rows of a store are called: those of a join `left` and `right`."""
        return store.partition("-")[0]

    def _column(self, part: Part, field: Field, prefix: str = "") -> StateColumn:
        return StateColumn(part, prefix + str(field["name"]), self._type(field), "")

    def _type(self, field: Field) -> DataType:
        try:
            return type_from_json(field["type"])
        except UnknownType:
            raise RuntimeFailure(
                "STATEPLAN_STATE_NOT_READ",
                f"The column {field['name']} of the state of operator {self.stored.id} has a type "
                f"that is not known here: {field['type']}.",
                hint='Read it with spark.read.format("statestore").load(checkpoint).',
            ) from None

    @property
    def columns(self) -> tuple[StateColumn, ...]:
        """What the rows hold; of a join the keys, then the columns of either side."""
        keys, values = self._columns
        columns = [*keys, *(c for own in values.values() for c in own)]
        return (*self._labels, *(c for c in columns if c.data_type != NULL))

    @property
    def schema(self) -> Any:
        """The Arrow schema of its rows as a flat table."""
        fields = [pa.field(c.name, stored_type(c.data_type)) for c in self.columns]
        return pa.schema([*fields, pa.field(EVENT_TIME, STAMP), pa.field(PARTITION, pa.int32())])

    def batches(self) -> Iterator[Any]:
        """Its rows as record batches of `schema`.

        Raises:
            RuntimeFailure: a file is missing or corrupt, or Spark is needed and not there.
        """
        keys, values = self._columns
        for store, part in self._parts.items():
            names = [column.name for column in (*keys, *values[store])]
            count = len(part.partitions)
            known = dict(zip(names, part.columns, strict=True)) | {PARTITION: part.partitions}
            known[self.label] = pa.repeat(self._name(store), count)
            arrays = [
                known[f.name] if f.name in known else pa.nulls(count, f.type) for f in self.schema
            ]
            yield pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    @cached_property
    def _parts(self) -> dict[str, Found]:
        return {store: self._part(store, schema) for store, schema in self._stores.items()}

    def _part(self, store: str, schema: StoredSchema) -> Found:
        key, value = (self._struct(fields) for fields in (schema.key, schema.value))
        if not reads_here(self.checkpoint):
            return self._by_spark(store, key, value)
        keys, values, counts = written_rows(self._folder, store, self.version)
        owners = np.repeat(*(np.array(list(part), np.int64) for part in (counts, counts.values())))
        size = sum(map(len, keys)) + sum(map(len, values))
        if schema is _RAW:
            columns = [pa.array(keys, pa.binary()), pa.array(values, pa.binary())]
        else:
            try:
                columns = [*read_rows(keys, key), *_values(values, value)]
            except BadRow as problem:
                raise corrupt(self._folder, f"its rows have other columns: {problem}") from None
        return Found(pa.array(owners, pa.int32()), columns, size)

    def _struct(self, fields: tuple[Field, ...]) -> StructType:
        return StructType(tuple(StructField(str(f["name"]), self._type(f)) for f in fields))

    @cached_property
    def _spark(self) -> Any:
        """A session, which reads what is read here by Spark alone."""
        try:
            return open_session("spark")[0]
        except StateplanError as problem:
            provider = self.checkpoint.provider.rpartition(".")[2]
            raise RuntimeFailure(
                "STATEPLAN_STATE_NEEDS_SPARK",
                f"The state of the checkpoint '{self.checkpoint.root}' is kept by Spark's "
                f"{provider}, whose files Spark alone reads, and Spark cannot be started: "
                f"{problem.message}",
                hint="Install stateplan[spark] and Java to see its rows. Without them `stateplan "
                "check` tells the operators, columns and settings.",
            ) from None

    def _by_spark(self, store: str, key: StructType, value: StructType) -> Found:
        batch = self.version - 1
        rows, owners = rows_by_spark(
            self.checkpoint, self.stored.id, store, key, value, self._spark, batch=batch
        )
        size = sum(column.nbytes for column in (*rows.keys, *rows.values))
        return Found(owners, [*rows.keys, *rows.values], size)

    def _count_keys(self, rows: int) -> int:
        """How many keys the rows are of: each has its own."""
        return rows

    def summary(self) -> StateSummary:
        """Its figures; the bytes are those of the rows, not of files.

        Raises:
            RuntimeFailure: as `batches`.
        """
        stores = self.stored.partitions or max(self.checkpoint.stores, 1)
        per_store = np.zeros(stores, np.int64)
        for part in self._parts.values():
            per_store += np.bincount(part.partitions.to_numpy(), minlength=stores)
        rows = int(per_store.sum())
        return StateSummary(
            operator_id=self.stored.id,
            operator_name=self.stored.name or UNKNOWN,
            version=self.version,
            stores=stores,
            rows=rows,
            keys=self._count_keys(rows),
            bytes=sum(part.bytes for part in self._parts.values()),
            files=0,
            oldest=None,
            newest=None,
            keys_per_store=(
                int(per_store.min()),
                float(np.median(per_store)),
                int(per_store.max()),
            ),
            empty_stores=int((per_store == 0).sum()),
            largest_share=int(per_store.max()) / rows if rows else 0.0,
        )


def _values(rows: list[bytes], schema: StructType) -> list[Any]:
    """The columns of values; up to Spark 3.4 the schema of a deduplication names columns of its
    input, of which it stores nothing."""
    if len(schema.fields) > 1 and set(rows) <= {_NO_VALUE}:
        return [pa.nulls(len(rows), stored_type(field.data_type)) for field in schema.fields]
    return read_rows(rows, schema)
