"""Tables that are read whole: files, and the conditions that are handed to them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta

from ..planner.model.expressions.core import AttributeReference, Call, Expression, Literal
from ..planner.model.frozen import dataclass
from ..planner.model.plans.query_plan import GivesAttributes
from ..planner.model.registry import lookup
from ..planner.model.schemas.types import DateType, StructField, StructType, TimestampType
from ..planner.model.text.fields_shown import cut
from ..planner.model.text.literal_text import literal_text
from ..planner.model.text.text import plan_text
from .plan import SparkPlan, UnaryExec
from .subqueries import PlannedSubquery


def source_filters(conditions: Sequence[Expression]) -> list[str]:
    """The texts of the conditions that a data source understands, in their order."""
    texts = [_text(condition) for condition in conditions]
    return [text for text in texts if text is not None]


def _text(condition: Expression) -> str | None:
    match condition:
        case AttributeReference(name=name):
            return f"EqualTo({name},true)"
        case Literal(value=bool() as value):
            return "AlwaysTrue()" if value else "AlwaysFalse()"
        case Call(name="isnull" | "isnotnull", arguments=(AttributeReference(name=name),)):
            return f"{'IsNull' if condition.name == 'isnull' else 'IsNotNull'}({name})"
        case Call(name="and" | "or", arguments=(one, other)):
            left, right = _text(one), _text(other)
            if left is None or right is None:
                return None
            return f"{'And' if condition.name == 'and' else 'Or'}({left},{right})"
        case Call(name="not", arguments=(one,)):
            inner = _text(one)
            return None if inner is None else f"Not({inner})"
        case Call(name="in" | "inset", arguments=(AttributeReference(name=name), *values)):
            constants = [v for v in values if isinstance(v, Literal)]
            if len(constants) != len(values):
                return None
            return f"In({name}, [{','.join(sorted(map(_constant, constants)))}])"
        case Call(
            arguments=(AttributeReference(name=name), Literal() | PlannedSubquery() as value)
        ):
            return _compared(condition.name, name, value, flipped=False)
        case Call(
            arguments=(Literal() | PlannedSubquery() as value, AttributeReference(name=name))
        ):
            return _compared(condition.name, name, value, flipped=True)
        case _:
            return None


def _compared(operator: str, name: str, value: Expression, *, flipped: bool) -> str | None:
    spec = lookup(operator)
    if flipped:
        if spec.mirror is None:
            return None
        spec = lookup(spec.mirror)
    return (
        None if spec.source_filter is None else f"{spec.source_filter}({name},{_constant(value)})"
    )


def _constant(value: Expression) -> str:
    """A constant as Java shows its value; a subquery's is not known yet."""
    if isinstance(value, PlannedSubquery):
        return f"ScalarSubquery#{value.expr_id}"
    assert isinstance(value, Literal)
    match value.type_, value.value:
        case DateType(), int(days):
            return (date(1970, 1, 1) + timedelta(days=days)).isoformat()
        case TimestampType(), int(micros):
            moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)
            fraction = f"{moment.microsecond:06d}".rstrip("0") or "0"
            return f"{moment:%Y-%m-%d %H:%M:%S}.{fraction}"
        case _:
            return literal_text(value)


_LONGEST_WITHOUT_DIRECTORY = len("InMemoryFileIndex(1 paths)[...")


@dataclass(frozen=True, kw_only=True)
class FileSourceScanExec(GivesAttributes, SparkPlan):
    """The rows of a table's files (`FileScan json` in plans).

    Attributes:
        name: the table's name, which stands for its directory.
        format: `json`, `parquet`, ...
        attributes: the columns that are read, in the files' order.
        data_filters: what is known of the rows that are asked for; files may skip others.
        batched: whether the files are read column by column.
        identifier: the full name of a table of the catalog.
        longest: how many characters of a fact are shown (`spark.sql.maxMetadataStringLength`).
    """

    expression_fields = ("attributes", "data_filters")

    name: str
    format: str
    attributes: tuple[AttributeReference, ...]
    data_filters: tuple[Expression, ...] = ()
    batched: bool = False
    identifier: str = ""
    longest: int = 100

    @property
    def node_name(self) -> str:
        return f"FileScan {self.format}"

    @property
    def title(self) -> str:
        return f"Scan {self.format} {self.identifier}"

    def arguments(self, max_fields: int) -> str:
        columns = cut([plan_text(a) for a in self.attributes], max_fields, ",")
        facts = cut([f"{label}: {value}" for label, value in self._facts()], max_fields)
        return f"{self.identifier}[{columns}] {facts}"

    def details(self, max_fields: int) -> tuple[tuple[str, str], ...]:
        columns = ", ".join(map(plan_text, self.attributes))
        label = f"Output [{len(self.attributes)}]" if self.attributes else "Output"
        facts = dict(self._facts())
        shown = [("Batched", facts["Batched"]), ("Location", f"InMemoryFileIndex [{self.name}]")]
        if self.data_filters and facts["PushedFilters"] != "[]":
            shown.append(("PushedFilters", facts["PushedFilters"]))
        shown.append(("ReadSchema", self._schema_text))
        return ((label, f"[{columns}]"), *shown)

    def _location(self) -> str:
        """The table's name for its directory, cut where the directory would not show at all."""
        text = f"InMemoryFileIndex(1 paths)[{self.name}]"
        if self.longest > _LONGEST_WITHOUT_DIRECTORY:
            return text
        return f"{text[: self.longest - 3]}..."

    def _facts(self) -> tuple[tuple[str, str], ...]:
        filters = f"[{', '.join(map(plan_text, self.data_filters))}]"
        pushed = f"[{', '.join(source_filters(self.data_filters))}]"
        return (
            ("Batched", "true" if self.batched else "false"),
            ("DataFilters", abbreviated_with_ids(filters, self.longest)),
            ("Format", _FORMATS.get(self.format, self.format.upper())),
            ("Location", self._location()),
            ("PartitionFilters", "[]"),
            ("PushedFilters", abbreviated(pushed, self.longest)),
            ("ReadSchema", abbreviated(self._schema_text, self.longest)),
        )

    @property
    def _schema_text(self) -> str:
        return StructType(tuple(StructField(a.name, a.data_type) for a in self.attributes)).simple


_FORMATS = {"parquet": "Parquet", "text": "Text"}


_ID = re.compile(r"(?<=#)\d+")


def abbreviated(text: str, longest: int) -> str:
    """At most so many characters, the last three of them dots if some are left out."""
    return text if len(text) <= longest else text[: longest - 3] + "..."


# Spark numbers columns on and on: some hundred queries make five digits.
_DIGITS = 5


def abbreviated_with_ids(text: str, longest: int) -> str:
    """As `abbreviated`, where the ids of columns count as many characters as they usually have.

    The rest of an id that is cut is that of no column.
    """
    pieces = _ID.split(text)
    length = sum(map(len, pieces)) + _DIGITS * (len(pieces) - 1)
    if length <= longest:
        return text
    ids = _ID.findall(text)
    left = longest - 3
    shown = ""
    for piece, number in zip(pieces, [*ids, ""], strict=True):
        shown += piece[:left]
        left -= len(piece)
        if left <= 0 or not number:
            break
        shown += number if left >= _DIGITS else str(10**_DIGITS - left)
        left -= _DIGITS
        if left <= 0:
            break
    return f"{shown}..."


@dataclass(frozen=True, kw_only=True)
class ColumnarToRowExec(UnaryExec):
    """Rows of what was read column by column."""

    keeps_partitioning = True
    keeps_ordering = True
    supports_codegen = True
