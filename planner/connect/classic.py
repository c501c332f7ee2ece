"""Where the Connect client does otherwise than classic PySpark, whose plans are wanted here."""

from __future__ import annotations

import re
from collections.abc import Callable, Container
from typing import Any

from pyspark.errors import AnalysisException, PySparkAttributeError, PySparkException
from pyspark.sql.connect import functions as F
from pyspark.sql.connect.dataframe import DataFrame
from pyspark.sql.connect.group import GroupedData
from pyspark.sql.types import NumericType

from ..model.conditions import conditions
from .call_sites import replace
from .failures import not_started
from .names import name_parts

_PARTITIONS = re.compile(r"`numPartitions` must be positive, got '(-?\d+)'")
_NOT_NUMERIC = "_LEGACY_ERROR_TEMP_1323"
_BITS = 0xFFFFFFFF
Method = Callable[..., Any]


def java_hash(text: str) -> int:
    """Java's `String.hashCode`, as 32 bits without a sign."""
    result = 0
    data = text.encode("utf-16-be")
    for index in range(0, len(data), 2):
        result = (31 * result + int.from_bytes(data[index : index + 2], "big")) & _BITS
    return result


def _improved(value: int) -> int:
    """The hash of a key in Scala's immutable HashMap."""
    value = (value + (~(value << 9) & _BITS)) & _BITS
    value ^= value >> 14
    value = (value + (value << 4)) & _BITS
    return value ^ (value >> 10)


def _scala_order(names: list[str], shift: int = 0) -> list[str]:
    """The order of a Scala HashMap: a node's own keys first, by five bits of the hash each."""
    nodes: dict[int, list[str]] = {}
    for name in names:
        nodes.setdefault(_improved(java_hash(name)) >> shift & 31, []).append(name)
    ordered = [nodes[bits] for bits in sorted(nodes)]
    own = [keys[0] for keys in ordered if len(keys) == 1]
    below = (key for keys in ordered if len(keys) > 1 for key in _scala_order(keys, shift + 5))
    return [*own, *below]


def map_order(names: list[str]) -> list[str]:
    """The order in which a dict's keys come back from the JVM.

    It is a Java HashMap there and becomes a Scala Map, which beyond four keys is hashed itself.
    """
    if len(names) > 4:
        return _scala_order(names)
    size = 16
    while len(names) > size * 3 // 4:
        size *= 2

    def bucket(name: str) -> int:
        value = java_hash(name)
        return (value ^ (value >> 16)) & (size - 1)

    return sorted(names, key=bucket)


def _looked_up(name: str, top: Container[str]) -> Any:
    """The column of a name as classic `max(name)` finds it: a field's has the field's name."""
    first, *fields = name_parts(name)
    if first.lower() not in top:  # a relation's name
        fields = fields[1:]
    return F.col(name).alias(fields[-1]) if fields else F.col(name)


def adopt_habits() -> Callable[[], None]:
    """Take up what classic PySpark does; gives a function that ends it.

    `agg({...})` goes through a Java map, which has an order of its own; a DataFrame's attribute
    that is no column is refused at once; `max(name)` and its kin look at each column by itself.
    """
    of_groups = {
        "agg": _in_map_order(GroupedData.agg),
        "_numeric_agg": _column_by_column(GroupedData._numeric_agg, GroupedData.agg),
    }
    of_frames = {
        "__getattr__": _checked(DataFrame.__getattr__),
        "agg": _grouped(DataFrame.agg),
        "toJSON": _at_rest(DataFrame.toJSON),
    }
    return replace({GroupedData: of_groups, DataFrame: of_frames})


def _in_map_order(aggregate: Method) -> Method:
    def agg(self: Any, *expressions: Any) -> Any:
        match expressions:
            case (dict() as given,):
                expressions = ({name: given[name] for name in map_order(list(given))},)
        return aggregate(self, *expressions)

    return agg


def _grouped(aggregate: Method) -> Method:
    """`df.agg({...})` goes the way of `df.groupBy().agg({...})`."""

    def agg(self: Any, *expressions: Any) -> Any:
        match expressions:
            case (dict(),):
                return self.groupBy().agg(*expressions)
        return aggregate(self, *expressions)

    return agg


def _at_rest(texts: Method) -> Method:
    def to_json(self: Any, *arguments: Any) -> Any:
        if self.isStreaming:
            error = not_started()
            raise AnalysisException(error.message, errorClass=error.condition)
        return texts(self, *arguments)

    return to_json


def _checked(look_up: Method) -> Method:
    def attribute(self: Any, name: str) -> Any:
        found = look_up(self, name)
        if name not in self.columns:
            raise PySparkAttributeError(
                errorClass="ATTRIBUTE_NOT_SUPPORTED", messageParameters={"attr_name": name}
            )
        return found

    return attribute


def _column_by_column(of_all: Method, aggregate: Method) -> Method:
    def numeric_agg(self: Any, function: str, names: Any) -> Any:
        for name in names:
            (field,) = self._df.select(name).schema.fields
            if not isinstance(field.dataType, NumericType):
                raise AnalysisException(
                    f'"{name}" is not a numeric column. Aggregation function can only be applied'
                    " on a numeric column.",
                    errorClass=_NOT_NUMERIC,
                    messageParameters={
                        "hint": f"Cast {name} first; where its type is a guess in the file of"
                        " --catalog, correct it there."
                    },
                )
        if not names:
            return of_all(self, function, names)
        top = {name.lower() for name in self._df.columns}
        return aggregate(self, *(getattr(F, function)(_looked_up(name, top)) for name in names))

    return numeric_agg


def spark_words(error: PySparkException) -> tuple[str | None, str]:
    """An error's condition and message as Spark has it, where the client's are its own."""
    condition, message = error.getCondition(), str(error)
    match condition:
        case "UNSUPPORTED_JOIN_TYPE" as condition:
            return _of_table(condition, **(error.getMessageParameters() or {}))
        case "VALUE_NOT_POSITIVE" if found := _PARTITIONS.search(message):
            number = found[1]
            return None, f"requirement failed: Number of partitions ({number}) must be positive."
        case "UNSUPPORTED_OPERATION" if "Repeated PIVOT" in message:
            return _of_table("REPEATED_CLAUSE", clause="PIVOT", operation="SUBQUERY")
        case "UNSUPPORTED_OPERATION" if "PIVOT after" in message:
            return _of_table("UNSUPPORTED_FEATURE.PIVOT_AFTER_GROUP_BY")
        case str() if condition.startswith("_LEGACY_ERROR_TEMP"):
            return condition, message.removeprefix(f"[{condition}] ")
    return condition, message


def _of_table(condition: str, /, **parameters: str) -> tuple[str, str]:
    return condition, conditions()[condition].message(dict(parameters))
