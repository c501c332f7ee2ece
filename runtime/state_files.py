"""What a checkpoint says of its stateful operators, in Spark's files.

`state/<operator>/_metadata/metadata` names the operator and its stores,
`state/<operator>/0/_metadata/schema` the columns of keys and values (of a store with a name
`state/<operator>/0/<store>/_metadata/schema`), and, in a file of our own,
`state/<operator>/_metadata/columns` how they are stored. Written at the first batch;
`state_checks.py` compares them with the query at a restart.
"""

from __future__ import annotations

import contextlib
import json
import struct
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from ..physical.plan import SparkPlan, StateStoreWriter
from ..planner.model.schemas.types import StructType
from .checkpoint import compact_json, read_lines
from .files import AnyPath, corrupt, read_whole, replace, write_new
from .inspection.columns import columns_of, columns_text

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
