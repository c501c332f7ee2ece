"""Types of Avro schemas, as Spark's SchemaConverters.toSqlType gives them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import AnalysisError
from ..options import by_lower_name
from .ddl import parse_type
from .types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    NULL,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    StructField,
    StructType,
)

_PRIMITIVE: Mapping[str, DataType] = {
    "string": STRING,
    "boolean": BOOLEAN,
    "double": DOUBLE,
    "float": FLOAT,
    "int": INT,
    "long": LONG,
    "bytes": BINARY,
    "null": NULL,
}
_LOGICAL: Mapping[tuple[str, str], DataType] = {
    ("int", "date"): DATE,
    ("long", "timestamp-millis"): TIMESTAMP,
    ("long", "timestamp-micros"): TIMESTAMP,
    ("long", "local-timestamp-millis"): TIMESTAMP_NTZ,
    ("long", "local-timestamp-micros"): TIMESTAMP_NTZ,
}
# Types of Spark 4.3 that stateplan refuses by name.
_TIMES = {"time-micros": "TIME", "timestamp-nanos": "TIMESTAMP_LTZ(9)"}
_CATALYST = "spark.sql.catalyst.type"
_NAMED = ("record", "error", "enum", "fixed")
_BITS_OF_A_DIGIT = 3.321928094887362


@dataclass
class _Reader:
    """Reads one schema.

    Attributes:
        options: Spark's, with names in lower case.
        names: the named types so far, by full name.
    """

    options: Mapping[str, str]
    names: dict[str, Any]

    def read(self, schema: Any, space: str, within: tuple[str, ...]) -> tuple[DataType, bool]:
        """A schema's type and whether it may be null; records `within` are being read.

        Raises:
            ValueError, KeyError, TypeError: it is no Avro schema.
            AnalysisError: Spark cannot read it.
        """
        if isinstance(schema, list):
            return self._union(schema, space, within)
        if isinstance(schema, str):
            if schema in _PRIMITIVE:
                return _PRIMITIVE[schema], schema == "null"
            named = self.names.get(schema) or self.names[f"{space}.{schema}"]
            return self._named(named, space, within)
        kind = schema["type"]
        if not isinstance(kind, str):
            raise ValueError(f"no type: {kind}")
        if kind in _NAMED:
            name, space = _full_name(schema, space)
            self.names[name] = schema = {**schema, "name": name}
            return self._named(schema, space, within)
        match kind:
            case "array":
                element, nulls = self.read(schema["items"], space, within)
                return ArrayType(element, nulls), False
            case "map":
                value, nulls = self.read(schema["values"], space, within)
                return MapType(STRING, value, nulls), False
            case "bytes":
                return _decimal(schema) or BINARY, False
            case "int" | "long" if (kind, schema.get("logicalType")) in _LOGICAL:
                return _LOGICAL[kind, schema["logicalType"]], False
            case "long" if schema.get("logicalType") in _TIMES:
                return parse_type(_TIMES[schema["logicalType"]]), False
            case "int" | "long" if _CATALYST in schema:
                return parse_type(schema[_CATALYST]), False
        return self.read(kind, space, within)

    def _named(self, schema: Any, space: str, within: tuple[str, ...]) -> tuple[DataType, bool]:
        if schema["type"] == "enum":
            return STRING, False
        if schema["type"] == "fixed":
            return _decimal(schema) or BINARY, False
        name = schema["name"]
        space = name.rpartition(".")[0] or space
        fields = []
        for field in schema["fields"]:
            if self._is_left_out(field["type"], space, (*within, name)):
                continue
            type_, nulls = self.read(field["type"], space, (*within, name))
            fields.append(StructField(field["name"], type_, nulls))
        return StructType(tuple(fields)), False

    def _is_left_out(self, schema: Any, space: str, within: tuple[str, ...]) -> bool:
        """Whether a field is a record within itself, deeper than `recursiveFieldMaxDepth`.

        Raises:
            AnalysisError: it is one, and none is allowed.
        """
        if isinstance(schema, list):
            rest = [branch for branch in schema if branch != "null"]
            return len(rest) == 1 and self._is_left_out(rest[0], space, within)
        if isinstance(schema, dict) and schema.get("type") in ("array", "map"):
            inner = schema["items"] if schema["type"] == "array" else schema["values"]
            return self._is_left_out(inner, space, within)
        if not isinstance(schema, str) or schema in _PRIMITIVE:
            return False
        depth = max(within.count(schema), within.count(f"{space}.{schema}"))
        most = int(self.options.get("recursivefieldmaxdepth", "-1"))
        if depth and most <= 0:
            raise AnalysisError(
                None,
                f"Found recursive reference in Avro schema, which can not be processed by Spark by"
                f" default: the record '{schema}' is within itself.",
                hint="Set the option recursiveFieldMaxDepth to a number from 1 to 15.",
            )
        return depth >= most if depth else False

    def _union(
        self, branches: list[Any], space: str, within: tuple[str, ...]
    ) -> tuple[DataType, bool]:
        rest = [branch for branch in branches if branch != "null"]
        nulls = len(rest) < len(branches)
        if len(rest) == 1:
            return self.read(rest[0], space, within)[0], nulls
        if rest in (["int", "long"], ["long", "int"]):
            return LONG, nulls
        if rest in (["float", "double"], ["double", "float"]):
            return DOUBLE, nulls
        stable = self.options.get("enablestableidentifiersforuniontype", "").lower() == "true"
        prefix = self.options.get("stableidentifierprefixforuniontype", "member_")
        fields = tuple(
            StructField(
                f"{prefix}{_branch_name(branch)}" if stable else f"member{place}",
                self.read(branch, space, within)[0],
                True,
            )
            for place, branch in enumerate(rest)
        )
        return StructType(fields), nulls


def _full_name(schema: Mapping[str, Any], space: str) -> tuple[str, str]:
    """A named type's name with its namespace, and that namespace."""
    name = schema["name"]
    if "." in name:
        return name, name.rpartition(".")[0]
    space = schema.get("namespace", space)
    return (f"{space}.{name}" if space else name), space


def _branch_name(branch: Any) -> str:
    if isinstance(branch, str):
        return branch.rpartition(".")[2]
    kind = branch["type"]
    return str(branch["name"].rpartition(".")[2] if kind in _NAMED else kind)


def _decimal(schema: Mapping[str, Any]) -> DecimalType | None:
    """A decimal; None where the logical type is none, or its digits do not fit the bytes."""
    if schema.get("logicalType") != "decimal":
        return None
    precision, scale = schema["precision"], schema.get("scale", 0)
    if "size" in schema and precision > int((8 * schema["size"] - 1) / _BITS_OF_A_DIGIT):
        return None
    return DecimalType(precision, scale)


def avro_type(text: str, options: Mapping[str, str]) -> DataType:
    """The type of what an Avro schema describes.

    Args:
        text: the schema as JSON.
        options: those of from_avro: `recursiveFieldMaxDepth`,
            `enableStableIdentifiersForUnionType`, `stableIdentifierPrefixForUnionType`.

    Raises:
        AnalysisError: it is no Avro schema, or a record is within itself.
    """
    given = by_lower_name(options)
    try:
        return _Reader(given, {}).read(json.loads(text), "", ())[0]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise AnalysisError(
            None,
            f"The schema of from_avro() is no Avro schema: {text[:200]!r} ({error}).",
            hint="Give the schema of the values as Avro's JSON.",
        ) from None
