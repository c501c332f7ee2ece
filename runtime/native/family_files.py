"""What Spark's checkpoints say of a processor's variables: its metadata and the families' schemas.

`state/<operator>/_metadata/v2/<batch>` lists the variables and names the file in
`state/<operator>/_stateSchema/default` with the columns of each family, both in Spark's forms.
"""

from __future__ import annotations

import struct
import uuid
from collections.abc import Sequence
from typing import Any

from ...physical.python_state import TransformWithStateInPySparkExec
from ...physical.state import STATE_KINDS, Family, timers_prefix
from ..checkpoint import compact_json
from ..files import write_new
from ..kernels.user_state.processor import ProcessorKernel
from ..state import Location
from ..state.parts import TIMERS
from ..state_files import java_chunks, java_text

_NO_USER_KEY = "{    }"
_FIRST_SCHEMA = struct.pack(">h", 0)


def write_family_files(
    directory: Location,
    operator: TransformWithStateInPySparkExec,
    kernel: ProcessorKernel,
    families: Sequence[Family],
) -> None:
    """Write a processor's metadata and schemas, as of its first batch.

    Raises:
        RuntimeFailure: a file cannot be written.
    """
    info = operator.state_info
    assert info is not None
    schemas = directory / "_stateSchema" / "default" / f"0_{uuid.uuid4()}"
    write_new(schemas, _schemas(families))
    place = str(schemas)
    store = {
        "storeName": "default",
        "numColsPrefixKey": 0,
        "numPartitions": info.num_partitions,
        "stateSchemaFilePaths": [f"file:{place}" if place.startswith("/") else place],
    }
    variables = [
        {
            "stateName": v.name,
            "stateVariableType": STATE_KINDS[v.kind],
            "ttlEnabled": v.ttl_ms is not None,
        }
        for v in kernel.variables
    ]
    if TIMERS in kernel.layouts:
        name = f"{timers_prefix(kernel.time_mode)}keyToTimestamp"
        variables.append(
            {"stateName": name, "stateVariableType": "TimerState", "ttlEnabled": False}
        )
    properties = {
        "timeMode": operator.time_mode,
        "outputMode": operator.function_mode.capitalize(),
        "stateVariables": variables,
    }
    described = {
        "operatorInfo": {
            "operatorId": info.operator_id,
            "operatorName": operator.operator_name,
        },
        "stateStoreInfo": [store],
        "operatorPropertiesJson": compact_json(properties),
    }
    write_new(directory / "_metadata" / "v2" / "0", f"v2\n{compact_json(described)}".encode())


def _schemas(families: Sequence[Family]) -> bytes:
    found = java_text("v3") + struct.pack(">i", len(families))
    for family in sorted(families, key=lambda family: family.name):
        found += java_text(family.name)
        found += _FIRST_SCHEMA + java_chunks(compact_json(family.key.json))
        found += _FIRST_SCHEMA + java_chunks(compact_json(family.value.json))
        found += java_chunks(compact_json(_encoder(family)))
        user_key = family.user_key
        found += java_chunks(_NO_USER_KEY if user_key is None else compact_json(user_key.json))
    return found


def _encoder(family: Family) -> dict[str, Any]:
    if family.form.ranged:
        return {"keyStateEncoderType": "RangeKeyScanStateEncoderSpec", "orderingOrdinals": [0]}
    if family.form.prefix:
        kind = "PrefixKeyScanStateEncoderSpec"
        return {"keyStateEncoderType": kind, "numColsPrefixKey": family.form.prefix}
    return {"keyStateEncoderType": "NoPrefixKeyStateEncoderSpec"}
