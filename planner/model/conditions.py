"""The table of error conditions, `conditions.json`: Spark's and, as STATEPLAN_*, our own.

It has the form of Spark's `error-conditions.json`, and the hint. The subclasses of a condition
(`DATATYPE_MISMATCH.NULL_TYPE`) put their own template behind it and have its hint where they have
none. Templates and the names of their parameters, `<objectName>`, are Spark's; a test compares them
with Spark's own table. The file is read when the first error is raised.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from .frozen import dataclass

_PARAMETER = re.compile("<([A-Za-z][A-Za-z0-9_]*)>")
# Spark fills this one in by itself.
_DOCUMENTATION = {"docroot": "https://spark.apache.org/docs/latest"}


@dataclass(frozen=True, kw_only=True)
class ErrorCondition:
    """One entry.

    Attributes:
        name: `UNRESOLVED_COLUMN.WITH_SUGGESTION`.
        sql_state: five characters; empty for Spark's legacy conditions and for our own.
        template: the message with `<parameter>` for what differs.
        hint: what to do about it, unless the place that raises it knows better.
    """

    name: str
    sql_state: str
    template: str
    hint: str = ""

    @property
    def parameters(self) -> frozenset[str]:
        """The parameters that the raising place gives."""
        return frozenset(_PARAMETER.findall(self.template)) - _DOCUMENTATION.keys()

    def message(self, parameters: dict[str, object]) -> str:
        """The text as Spark prints it: `[CONDITION] text SQLSTATE: 42703`.

        A parameter whose name is taken in Python ends with an underscore (`from_`).

        Raises:
            TypeError: other parameters than the template's are given.
        """
        values = {name.rstrip("_"): str(value) for name, value in parameters.items()}
        if values.keys() != self.parameters:
            raise TypeError(f"{self.name} takes {sorted(self.parameters)}, not {sorted(values)}")
        values |= _DOCUMENTATION
        text = _PARAMETER.sub(lambda found: values[found.group(1)], self.template)
        if not self.sql_state:
            return text
        return f"[{self.name}] {text} SQLSTATE: {self.sql_state}"


@cache
def conditions() -> dict[str, ErrorCondition]:
    """All entries by name."""
    import json
    from importlib.resources import files

    text = files(__package__).joinpath("conditions.json").read_text(encoding="utf-8")
    entries: dict[str, Any] = json.loads(text)
    found = {}
    for name, entry in entries.items():
        found[name] = _entry(name, entry)
        for case, inner in entry.get("subClass", {}).items():
            full = f"{name}.{case}"
            found[full] = _entry(full, {**entry, **inner}, before=_template(entry) + " ")
    return found


def _template(entry: dict[str, Any]) -> str:
    return "\n".join(entry["message"])


def _entry(name: str, entry: dict[str, Any], before: str = "") -> ErrorCondition:
    return ErrorCondition(
        name=name,
        sql_state=entry.get("sqlState", ""),
        template=before + _template(entry),
        hint=entry.get("hint", ""),
    )
