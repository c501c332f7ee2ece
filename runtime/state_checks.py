"""Whether the state of a checkpoint is a query's: looked at before its first batch runs.

A query whose operators or columns differ from those in `state_files.py` is refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from ..physical.plan import SparkPlan, StateStoreWriter
from ..planner.evolution.stored import shape
from ..planner.model.errors import RuntimeFailure
from ..planner.model.schemas.types import is_collated
from .checkpoint import STATE_PROVIDER, compact_json
from .files import AnyPath, corrupt
from .frames import schema_json
from .state_files import (
    Field,
    OperatorMetadata,
    metadata_path,
    read_schema,
    schema_path,
    stored_operators,
)

_INCOMPATIBLE = {
    "key": "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE",
    "value": "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE",
}


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


def _check_metadata(state_directory: AnyPath, operators: Iterable[int]) -> None:
    """Where an operator keeps state, the file that says which operator it is must be there."""
    for operator_id in operators:
        directory = state_directory / str(operator_id)
        path = metadata_path(directory)
        if (directory / "runs").is_dir() and not path.exists():
            raise corrupt(path, "it is missing, though there is state")


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
