"""A physical plan as JSON and back.

Version 1: `{"version": 1, "plan": NODE}`. A NODE is an object with its kind under `"node"`
(plan_nodes.py) and its fields under their names, children included; columns, expressions, types and
state info are nodes too. Sequences are arrays. Values that JSON has no form for are
`{"value": KIND, "text": T}` with KIND `float` (NaN, the infinities, -0.0), `decimal` or `bytes`
(hexadecimal). What takes no part in a plan's meaning (qualifiers) is left out, but for `"from"` of
an operator: the line of code or of SQL text that it comes from, and what stands there. It is not
read back.
"""

from __future__ import annotations

import json
import math
from dataclasses import MISSING, Field, fields, is_dataclass
from decimal import Decimal
from functools import cache
from typing import Any

from ...planner.model.errors import DescriptionError
from ...planner.model.expressions.base import Origin
from ..plan import SparkPlan
from .plan_nodes import NAMES, NODES

VERSION = 1
_FROM = "from"
_NO_FIELDS = ("node", _FROM)


def to_json(plan: SparkPlan) -> dict[str, object]:
    """The plan as an object that `json` can write."""
    return {"version": VERSION, "plan": _encoded(plan)}


def json_text(plan: SparkPlan) -> str:
    """The plan as JSON text, indented, the same for equal plans."""
    return json.dumps(to_json(plan), indent=2, ensure_ascii=False)


def from_json(document: object) -> SparkPlan:
    """The plan that `to_json` wrote.

    Raises:
        DescriptionError: it is no plan, or of another version.
    """
    if not isinstance(document, dict) or "plan" not in document:
        raise _unusable("it has no plan")
    if document.get("version") != VERSION:
        raise _unusable(f"its version is {document.get('version')!r}, not {VERSION}")
    plan = _decoded(document["plan"])
    if not isinstance(plan, SparkPlan):
        raise _unusable("its root is no physical operator")
    return plan


def _unusable(reason: str) -> DescriptionError:
    return DescriptionError.of("STATEPLAN_PLAN_JSON", reason=reason)


@cache
def _kept_fields(kind: Any) -> tuple[Field[Any], ...]:
    if not is_dataclass(kind):
        return ()
    return tuple(f for f in fields(kind) if f.init and (f.compare or _required(f)))


def _required(field: Field[Any]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def _encoded(value: object) -> object:
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            plain = math.isfinite(value) and (value != 0 or math.copysign(1, value) > 0)
            return value if plain else _tagged("float", repr(value))
        case Decimal():
            return _tagged("decimal", str(value))
        case bytes():
            return _tagged("bytes", value.hex())
        case tuple():
            return [_encoded(item) for item in value]
    kind: Any = type(value)
    if kind not in NAMES:
        raise TypeError(f"no JSON form for {kind.__name__}")
    document: dict[str, object] = {"node": NAMES[kind]}
    for field in _kept_fields(kind):
        document[field.name] = _encoded(getattr(value, field.name))
    if isinstance(value, SparkPlan) and value.place is not None:
        document[_FROM] = _place(value.place)
    return document


def _place(origin: Origin) -> dict[str, object]:
    excerpt = " ".join(origin.source[origin.start : origin.stop + 1].split())
    place: dict[str, object] = {"line": origin.line, "position": origin.position, "text": excerpt}
    return {"file": origin.file, **place} if origin.file else place


def _tagged(kind: str, text: str) -> dict[str, object]:
    return {"value": kind, "text": text}


def _decoded(document: Any) -> object:
    match document:
        case list():
            return tuple(_decoded(item) for item in document)
        case {"value": kind, "text": str(text)}:
            return _plain(kind, text)
        case {"node": str(name)}:
            kind = NODES.get(name)
            if kind is None:
                raise _unusable(f"it has an unknown node '{name}'")
            values = {str(k): _decoded(v) for k, v in document.items() if k not in _NO_FIELDS}
            try:
                return kind(**values)
            except TypeError as error:
                raise _unusable(f"the node '{name}' has other fields: {error}") from error
        case _:
            return document


def _plain(kind: object, text: str) -> object:
    match kind:
        case "float":
            return float(text)
        case "decimal":
            return Decimal(text)
        case "bytes":
            return bytes.fromhex(text)
        case _:
            raise _unusable(f"it has a value of the unknown kind '{kind}'")
