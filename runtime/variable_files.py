"""The variables of a processor beside Spark's files of a checkpoint, and how they may change.

`state/<operator>/_metadata/variables` says what each variable is. A restarted query may add
variables and leave some out. Where state is in Spark's Avro encoding (`spark.sql.streaming.
stateStore.encodingFormat`) a value may have more fields, fewer, and wider ones, by their names;
otherwise its types stay as they are.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..physical.plan import SparkPlan
from ..physical.python_state import TransformWithStateInPySparkExec
from ..physical.state import STATE_KINDS
from ..planner.model.errors import RuntimeFailure
from ..planner.model.settings.conf import Conf
from .engines.user_state import declared_by, evolves_by_name
from .files import AnyPath, read_whole, replace
from .inspection.columns import columns_of, columns_text
from .state_checks import compare_fields
from .state_files import columns_path

Described = dict[str, Any]
_WIDER = {
    "byte": ("short", "integer", "long", "float", "double"),
    "short": ("integer", "long", "float", "double"),
    "integer": ("long", "float", "double"),
    "long": ("float", "double"),
    "float": ("double",),
}


def check_variables(state_directory: AnyPath, plan: SparkPlan, conf: Conf) -> None:
    """Check that the variables of a query's processors fit those of the checkpoint; note them.

    Raises:
        RuntimeFailure: one has another kind or key, or a value that rows cannot be read as.
    """
    for operator in plan.collect(TransformWithStateInPySparkExec):
        assert operator.state_info is not None
        directory = state_directory / str(operator.state_info.operator_id)
        path = columns_path(directory).parent / "variables"
        stored: dict[str, Described] = json.loads(read_whole(path)) if path.exists() else {}
        declared = declared_by(operator.function, operator.time_mode)
        found = {
            variable.name: {
                "kind": variable.kind,
                "key": json.loads(variable.key) if variable.key else None,
                "value": json.loads(variable.value),
                "expires": variable.ttl_ms is not None,
            }
            for variable in declared.variables.values()
        }
        for name in found.keys() & stored.keys():
            _compare(name, stored[name], found[name], by_name=evolves_by_name(conf))
        left = {name: one for name, one in stored.items() if name not in declared.deleted}
        if stored != {**left, **found}:
            replace(path, json.dumps({**left, **found}).encode())
            replace(columns_path(directory), columns_text(columns_of(operator)).encode())


def _compare(name: str, old: Described, new: Described, *, by_name: bool) -> None:
    if old["kind"] != new["kind"]:
        raise RuntimeFailure.of(
            "STATE_STORE_INVALID_VARIABLE_TYPE_CHANGE",
            stateVarName=name,
            newType=STATE_KINDS[new["kind"]],
            oldType=STATE_KINDS[old["kind"]],
            hint="Give the variable another name, or start with a new checkpoint directory.",
        )
    if old["key"] is not None:
        compare_fields("key", old["key"]["fields"], new["key"]["fields"])
    if old["expires"] != new["expires"]:
        expiry = [{"name": "ttlExpirationMs", "type": "long"}]
        was, wanted = (d["value"]["fields"] + expiry * d["expires"] for d in (old, new))
        compare_fields("value", was, wanted)
    if not by_name:
        compare_fields("value", old["value"]["fields"], new["value"]["fields"])
    elif not _readable(old["value"], new["value"]):
        raise RuntimeFailure.of(
            "STATE_STORE_INVALID_VALUE_SCHEMA_EVOLUTION",
            newValueSchema=json.dumps(new["value"]),
            oldValueSchema=json.dumps(old["value"]),
            hint="Add, leave out or widen fields, or start with a new checkpoint directory.",
        )


def _readable(old: Any, new: Any) -> bool:
    """Whether values of a type can be read as another."""
    match old, new:
        case {"type": "struct", "fields": was}, {"type": "struct", "fields": wanted}:
            types: Mapping[str, Any] = {field["name"]: field["type"] for field in was}
            both = ((types[f["name"]], f["type"]) for f in wanted if f["name"] in types)
            return all(_readable(one, other) for one, other in both)
        case str(), str():
            return old == new or new in _WIDER.get(old, ())
    return bool(old == new)
