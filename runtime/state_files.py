"""What a checkpoint says of its stateful operators, in Spark's files.

`state/<operator>/_metadata/metadata` names the operator and its stores,
`state/<operator>/0/_metadata/schema` the columns of keys and values (of a store with a name
`state/<operator>/0/<store>/_metadata/schema`), and, in a file of our own,
`state/<operator>/_metadata/columns` how they are stored. Written at the first batch, compared at a
restart: a query whose operators or columns differ is refused before it runs.
"""

from __future__ import annotations

import contextlib
import json
import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from ..physical.plan import SparkPlan, StateStoreWriter
from ..planner.evolution.stored import shape
from ..planner.model.errors import RuntimeFailure
from ..planner.model.schemas.types import StructType, is_collated
from .checkpoint import STATE_PROVIDER, compact_json, read_lines
from .files import AnyPath, corrupt, read_whole, replace, write_new
from .frames import schema_json
from .inspection.columns import columns_of, columns_text

_INCOMPATIBLE = {
    "key": "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE",
    "value": "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE",
}
_CHUNK = 65535 // 4  # characters that always fit one of Java's UTF strings
Field = dict[str, Any]


class OperatorInfo(BaseModel):
    """Which operator it is."""

    model_config = ConfigDict(frozen=True, extra="ignore")
    operatorId: int
    operatorName: str


class StoreInfo(BaseModel):
    """One of its stores."""

    model_config = ConfigDict(frozen=True, extra="ignore")
    storeName: str = "default"
    numColsPrefixKey: int = 0
    numPartitions: int


class OperatorMetadata(BaseModel):
    """The file `metadata` of an operator."""

    model_config = ConfigDict(frozen=True, extra="ignore")
    operatorInfo: OperatorInfo
    stateStoreInfo: tuple[StoreInfo, ...]


def write_state_files(state_directory: AnyPath, plan: SparkPlan) -> None:
    """Write what is not there yet for the operators of a query's first batch."""
    for operator in plan.collect(StateStoreWriter):
        assert operator.state_info is not None
        directory = state_directory / str(operator.state_info.operator_id)
        _write_once(columns_path(directory), columns_text(columns_of(operator)).encode())
        write_spark_files(directory, operator)
        _set_store_count(metadata_path(directory), operator.state_info.num_partitions)


def write_spark_files(directory: AnyPath, operator: StateStoreWriter) -> None:
    """Write those of Spark's own files of an operator that are not there yet."""
    info = operator.state_info
    assert info is not None
    stores = tuple(
        StoreInfo(
            storeName=name,
            numPartitions=info.num_partitions,
            numColsPrefixKey=operator.num_cols_prefix_key,
        )
        for name in operator.store_names
    )
    metadata = OperatorMetadata(
        operatorInfo=OperatorInfo(operatorId=info.operator_id, operatorName=operator.operator_name),
        stateStoreInfo=stores,
    )
    _write_once(metadata_path(directory), _metadata_bytes(metadata))
    for store in operator.state_stores:
        schema = _schema_bytes(store.key, store.value)
        _write_once(schema_path(directory, store.name), schema)


def update_store_count(state_directory: AnyPath, stores: int) -> None:
    """Bring the number of stores in the operators' metadata up to date with the offset log's."""
    for operator_id in stored_operators(state_directory):
        _set_store_count(metadata_path(state_directory / str(operator_id)), stores)


def _set_store_count(path: AnyPath, stores: int) -> None:
    metadata = _read_metadata(path)
    changed = tuple(
        info.model_copy(update={"numPartitions": stores}) for info in metadata.stateStoreInfo
    )
    if changed != metadata.stateStoreInfo:
        changed_metadata = metadata.model_copy(update={"stateStoreInfo": changed})
        replace(path, _metadata_bytes(changed_metadata))


def check_state_files(state_directory: AnyPath, plan: SparkPlan, *, complete: bool = True) -> None:
    """Check that a checkpoint's state is this query's: operators by id, then columns by type.

    As in Spark names and nullability of columns are not compared.

    Args:
        state_directory: the checkpoint's.
        plan: of the query.
        complete: whether all operators' files must be there: not before the first commit, where a
            run may have ended between writing one operator's and the next one's.

    Raises:
        RuntimeFailure: it is another query's, or a file is unusable.
    """
    operators = {
        o.state_info.operator_id: o for o in plan.collect(StateStoreWriter) if o.state_info
    }
    stored = stored_operators(state_directory)
    if complete:
        _check_metadata(state_directory, operators)
        if operators and not stored:
            raise _missing_state(state_directory, operators.values())
    expected = [i for i in operators if complete or i in stored]
    names = {i: operators[i].operator_name for i in expected}
    if {i: m.operatorInfo.operatorName for i, m in stored.items()} != names:
        raise _other_operators(stored, names)
    for operator_id, operator in operators.items():
        for store in operator.state_stores:
            path = schema_path(state_directory / str(operator_id), store.name)
            if path.exists():
                key, value = read_schema(path)
                compare_fields("key", key, schema_json(store.key)["fields"])
                compare_fields("value", value, schema_json(store.value)["fields"])


def check_state_types(plan: SparkPlan) -> None:
    """Check that keys equal each other exactly if their bytes do: stores find them by these.

    Raises:
        RuntimeFailure: a key has a string with a collation (Spark, too, refuses the first batch).
    """
    for operator in plan.collect(StateStoreWriter):
        schema = operator.state_key_schema
        if is_collated(schema):
            raise RuntimeFailure.of(
                "STATE_STORE_UNSUPPORTED_OPERATION_BINARY_INEQUALITY",
                schema=compact_json(schema_json(schema)),
                hint="Give the column the type STRING in the source's schema.",
            )


def _check_metadata(state_directory: AnyPath, operators: Iterable[int]) -> None:
    """Where an operator keeps state, the file that says which operator it is must be there."""
    for operator_id in operators:
        directory = state_directory / str(operator_id)
        path = metadata_path(directory)
        if (directory / "runs").is_dir() and not path.exists():
            raise corrupt(path, "it is missing, though there is state")


def check_state_provider(provider: str, plan: SparkPlan) -> None:
    """Check that a checkpoint's state, written by this provider, is one that we can read.

    Raises:
        RuntimeFailure: Spark wrote it.
    """
    if provider == STATE_PROVIDER or not plan.collect(StateStoreWriter):
        return
    raise RuntimeFailure(
        "STATEPLAN_STATE_OF_SPARK",
        f"The checkpoint's state was written by Spark ('{provider}'): only Spark can go on "
        "with it.",
        hint="Make a checkpoint of stateplan's from it with `stateplan state import`, or start "
        "the query with a new directory.",
    )


def stored_operators(state_directory: AnyPath) -> dict[int, OperatorMetadata]:
    """The operators that a checkpoint has state of, by id."""
    if not state_directory.is_dir():
        return {}
    found: dict[int, OperatorMetadata] = {}
    for directory in state_directory.iterdir():
        path = metadata_path(directory)
        if directory.name.isdigit() and path.exists():
            found[int(directory.name)] = _read_metadata(path)
    return dict(sorted(found.items()))


def metadata_path(operator_directory: AnyPath) -> AnyPath:
    return operator_directory / "_metadata" / "metadata"


def schema_path(operator_directory: AnyPath, store: str = "default") -> AnyPath:
    first = operator_directory / "0"
    return (first if store == "default" else first / store) / "_metadata" / "schema"


def columns_path(operator_directory: AnyPath) -> AnyPath:
    return operator_directory / "_metadata" / "columns"


def read_schema(path: AnyPath) -> tuple[list[Field], list[Field]]:
    """The fields of keys and of values in a schema file.

    Raises:
        RuntimeFailure: the file is corrupt.
    """
    data = read_whole(path)
    try:
        version, position = _utf(data, 0)
        if version != "v2":
            raise corrupt(path, f"its version is '{version[:20]}'")
        key, position = _chunked(data, position)
        value, _ = _chunked(data, position)
        return json.loads(key)["fields"], json.loads(value)["fields"]
    except (struct.error, ValueError, KeyError, TypeError):
        raise corrupt(path, "it holds no schema") from None


def _read_metadata(path: AnyPath) -> OperatorMetadata:
    lines = read_lines(path, read_whole(path))
    try:
        return OperatorMetadata.model_validate_json("\n".join(lines))
    except ValidationError:
        raise corrupt(path, "it describes no operator") from None


def _metadata_bytes(metadata: OperatorMetadata) -> bytes:
    return f"v1\n{metadata.model_dump_json()}".encode()


def _write_once(path: AnyPath, data: bytes) -> None:
    if not path.exists():
        # Another run may come in between: the claim says which of them goes on.
        with contextlib.suppress(FileExistsError):
            write_new(path, data)


def _schema_bytes(key: StructType, value: StructType) -> bytes:
    """Version, then key and value schema, as Java's DataOutputStream writes them."""
    out = java_text("v2")
    return out + java_chunks(compact_json(key.json)) + java_chunks(compact_json(value.json))


def java_chunks(text: str) -> bytes:
    """A long text in pieces, as Spark writes them."""
    chunks = [text[i : i + _CHUNK] for i in range(0, len(text), _CHUNK)]
    return struct.pack(">I", len(chunks)) + b"".join(map(java_text, chunks))


def java_text(text: str) -> bytes:
    """A text with its length before it."""
    data = text.encode("utf-8", "surrogatepass")
    return struct.pack(">H", len(data)) + data


def _utf(data: bytes, position: int) -> tuple[str, int]:
    (length,) = struct.unpack_from(">H", data, position)
    end = position + 2 + length
    if end > len(data):
        raise ValueError("the text ends early")
    return data[position + 2 : end].decode("utf-8", "surrogatepass"), end


def _chunked(data: bytes, position: int) -> tuple[str, int]:
    (count,) = struct.unpack_from(">I", data, position)
    position += 4
    text = ""
    for _ in range(count):
        part, position = _utf(data, position)
        text += part
    return text, position


def _missing_state(directory: AnyPath, operators: Iterable[StateStoreWriter]) -> RuntimeFailure:
    names = _listed({o.state_info.operator_id: o.operator_name for o in operators if o.state_info})
    return RuntimeFailure.of(
        "STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY",
        OpsInCurBatchSeq=names,
        hint="Start the query with a new checkpoint directory, or the one that belongs to it: "
        f"'{directory}' holds no operator's files.",
    )


def _other_operators(
    stored: Mapping[int, OperatorMetadata], names: Mapping[int, str]
) -> RuntimeFailure:
    return RuntimeFailure.of(
        "STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA",
        OpsInMetadataSeq=_listed({i: m.operatorInfo.operatorName for i, m in stored.items()}),
        OpsInCurBatchSeq=_listed(names),
        hint="Start the changed query with a new checkpoint directory.",
    )


def _listed(names: Mapping[int, str]) -> str:
    return ", ".join(f"(OperatorId: {i} -> OperatorName: {name})" for i, name in names.items())


def compare_fields(which: str, stored: Sequence[Field], wanted: Sequence[Field]) -> None:
    """Check that stored columns have the types that are wanted, by their places.

    Raises:
        RuntimeFailure: they have not.
    """
    if [shape(f["type"]) for f in stored] == [shape(f["type"]) for f in wanted]:
        return
    old, new = ([f"{f['name']} {json.dumps(f['type'])}" for f in s] for s in (stored, wanted))
    schemas = {
        f"stored{which.capitalize()}Schema": ", ".join(old),
        f"new{which.capitalize()}Schema": ", ".join(new),
    }
    raise RuntimeFailure.of(
        _INCOMPATIBLE[which],
        hint="Start the changed query with a new checkpoint directory.",
        **schemas,
    )
