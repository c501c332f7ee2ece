"""Where the Connect client does otherwise than classic PySpark, whose plans are wanted here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.errors import PySparkAttributeError, PySparkException
from pyspark.sql.connect.dataframe import DataFrame
from pyspark.sql.connect.group import GroupedData

_JOIN_TYPES = (
    "[UNSUPPORTED_JOIN_TYPE] Unsupported join type ",
    " SQLSTATE: 0A000",
)
_BITS = 0xFFFFFFFF


def java_hash(text: str) -> int:
    """Java's `String.hashCode`, as 32 bits without a sign."""
    result = 0
    data = text.encode("utf-16-be")
    for index in range(0, len(data), 2):
        result = (31 * result + int.from_bytes(data[index : index + 2], "big")) & _BITS
    return result


def map_order(names: list[str]) -> list[str]:
    """The order in which a Java HashMap of these keys gives them back."""
    size = 16
    while len(names) > size * 3 // 4:
        size *= 2

    def bucket(name: str) -> int:
        value = java_hash(name)
        return (value ^ (value >> 16)) & (size - 1)

    return sorted(names, key=bucket)


def adopt_habits() -> Callable[[], None]:
    """Take up what classic PySpark does; gives a function that ends it.

    `agg({...})` goes through a Java map, which has an order of its own; a DataFrame's attribute
    that is no column is refused at once.
    """
    aggregated, looked_up = GroupedData.agg, DataFrame.__getattr__

    def agg(self: Any, *expressions: Any) -> Any:
        if len(expressions) == 1 and isinstance(expressions[0], dict):
            given = expressions[0]
            expressions = ({name: given[name] for name in map_order(list(given))},)
        return aggregated(self, *expressions)

    def attribute(self: Any, name: str) -> Any:
        found = looked_up(self, name)
        if name not in self.columns:
            raise PySparkAttributeError(
                errorClass="ATTRIBUTE_NOT_SUPPORTED", messageParameters={"attr_name": name}
            )
        return found

    group, frame = GroupedData, DataFrame
    group.agg = agg  # type: ignore[method-assign]
    frame.__getattr__ = attribute  # type: ignore[method-assign]

    def end() -> None:
        group.agg = aggregated  # type: ignore[method-assign]
        frame.__getattr__ = looked_up  # type: ignore[method-assign]

    return end


def spark_words(error: PySparkException) -> str:
    """An error's message as Spark has it, where the client refuses in words of its own."""
    message = str(error)
    if error.getCondition() == "UNSUPPORTED_JOIN_TYPE":
        start, end = _JOIN_TYPES
        return start + message.removeprefix(f"{start.rstrip()}: ") + end
    return message


@contextmanager
def habits() -> Iterator[None]:
    """Classic habits while this lasts."""
    end = adopt_habits()
    try:
        yield
    finally:
        end()
