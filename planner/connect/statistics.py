"""Statistics of columns (`describe`, `summary`, `approxQuantile`, ...), and `transpose`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...rules.analysis.names.names import unresolved_column
from ..model.errors import AnalysisError
from ..model.expressions.core import (
    Alias,
    AttributeReference,
    Cast,
    Expression,
    Literal,
    Origin,
    lit,
)
from ..model.expressions.unresolved import UnresolvedAttribute, UnresolvedFunction
from ..model.functions.coercion import tightest_common_type
from ..model.functions.hashes import scala_type
from ..model.plans.logical import Aggregate, Project
from ..model.plans.query_plan import LogicalPlan
from ..model.plans.relations import AnalyzedPlan
from ..model.schemas.types import (
    DOUBLE,
    INT,
    STRING,
    ArrayType,
    AtomicType,
    NumericType,
    StringType,
)
from ..model.text.quoting import to_sql_type
from .failures import not_started, unsupported
from .names import name_parts
from .places import Message

if TYPE_CHECKING:
    from .relations import RelationReader

_DESCRIBED = ("count", "mean", "stddev", "min", "max")
_SUMMARY = ("count", "mean", "stddev", "min", "25%", "50%", "75%", "max")
_OF_NUMBERS = {"mean": "avg", "stddev": "stddev"}
_OF_ALL = ("count", "min", "max", "approx_count_distinct")
_ACCURACY = 10_000  # of percentiles: Spark's default


def describe(reader: RelationReader, message: Message, origin: Origin | None) -> LogicalPlan:
    """`describe`: five statistics of all columns, or of those named."""
    child = reader.child(message.input)
    if message.cols:
        names = tuple(UnresolvedAttribute(parts=name_parts(name)) for name in message.cols)
        child = reader.staged(Project(child=child, project_list=names, origin=origin))
    return _statistics(reader, child, _DESCRIBED, origin)


def summary(reader: RelationReader, message: Message, origin: Origin | None) -> LogicalPlan:
    """`summary`: the statistics named, or eight."""
    chosen = tuple(message.statistics) or _SUMMARY
    return _statistics(reader, reader.child(message.input), chosen, origin)


def number(reader: RelationReader, message: Message, origin: Origin | None) -> LogicalPlan:
    """`approxQuantile`, `corr`, `cov`: numbers for the caller, computed at once.

    Raises:
        StateplanError: a stream has not been started; a table is not read.
    """
    if reader.child(message.input).is_streaming:
        raise not_started(origin)
    raise unsupported("A statistic of a table", origin)


def _statistics(
    reader: RelationReader,
    child: AnalyzedPlan,
    statistics: tuple[str, ...],
    origin: Origin | None,
) -> LogicalPlan:
    """One row a statistic, a column of texts for each number and text.

    `Project [summary, element_at(a, summary) AS a]` over `Generate explode([count, ...])` over
    `Aggregate [map(count, count(a), ...) AS a]`.

    Raises:
        StateplanError: there is no such column, or no such statistic.
    """
    columns = [a for a in child.output if isinstance(a.type_, NumericType | StringType)]
    if not columns:
        raise unsupported("A summary without numbers and texts", origin)
    maps = tuple(
        Alias(child=_map(column, statistics, origin), name=column.name) for column in columns
    )
    row = reader.staged(Aggregate(child=child, grouping=(), aggregates=maps, origin=origin))
    names = Literal(value=statistics, type_=ArrayType(STRING, True))
    exploded = Alias(child=_call("explode", names), name="summary")
    rows = reader.staged(Project(child=row, project_list=(*row.output, exploded), origin=origin))
    *made, name = rows.output
    shown = (Alias(child=_call("element_at", column, name), name=column.name) for column in made)
    return Project(child=rows, project_list=(name, *shown), origin=origin)


def _map(
    column: AttributeReference, statistics: tuple[str, ...], origin: Origin | None
) -> Expression:
    """The column's statistics by their names, all as texts."""
    shares = [float(name[:-1]) / 100 for name in statistics if name.endswith("%")]
    entries: list[Expression] = []
    for name in statistics:
        if name.endswith("%"):
            place = Literal(value=shares.index(float(name[:-1]) / 100), type_=INT)
            value = _call("get", _shares(column, shares), place)
        elif name in _OF_NUMBERS:
            value = _call(_OF_NUMBERS[name], _as_number(column))
        elif name == "count_distinct":
            value = UnresolvedFunction(name="count", arguments=(column,), distinct=True)
        elif name in _OF_ALL:
            value = _call(name, column)
        else:
            raise unsupported(f"The statistic '{name}'", origin)
        entries += [Cast(child=text, type_=STRING) for text in (lit(name), value)]
    return _call("map", *entries)


def _shares(column: AttributeReference, shares: list[float]) -> Expression:
    at = Literal(value=tuple(shares), type_=ArrayType(DOUBLE, False))
    return _call("percentile_approx", _as_number(column), at, Literal(value=_ACCURACY, type_=INT))


def _as_number(column: AttributeReference) -> Expression:
    if isinstance(column.type_, NumericType):
        return column
    return Cast(child=column, type_=DOUBLE, mode="TRY")


def _call(name: str, *arguments: Expression) -> UnresolvedFunction:
    return UnresolvedFunction(name=name, arguments=arguments)


def transpose(reader: RelationReader, message: Message, origin: Origin | None) -> LogicalPlan:
    """`transpose`, which is checked as Spark checks it and then needs the rows.

    Raises:
        StateplanError: the index is no column of single values, the others have no common type;
            else a stream has not been started, and a table is not read.
    """
    child = reader.child(message.input)
    index: Expression = child.output[0]
    if message.index_columns:
        index = reader.expressions.read(message.index_columns[0])
        if isinstance(index, UnresolvedAttribute):
            found = reader.session.resolved_over(child, index)
            if found is None:
                raise unresolved_column(index.parts, child.output, None)
            index = found
    if not isinstance(index, AttributeReference):
        raise _bad_index("Index column must be an atomic attribute")
    if not isinstance(index.type_, AtomicType):
        raise _bad_index(
            f"Index column must be of atomic type, but found: {scala_type(index.type_)}"
        )
    rest = [column for column in child.output if column.expr_id != index.expr_id]
    common = rest[0].type_ if rest else None
    for column in rest[1:]:
        assert common is not None
        wider = tightest_common_type(common, column.type_, reader.session.conf)
        if wider is None:
            raise AnalysisError.of(
                "TRANSPOSE_NO_LEAST_COMMON_TYPE",
                dt1=to_sql_type(common),
                dt2=to_sql_type(column.type_),
            )
        common = wider
    if child.is_streaming:
        raise not_started(origin)
    raise unsupported("transpose() of a table", origin)


def _bad_index(reason: str) -> AnalysisError:
    return AnalysisError.of("TRANSPOSE_INVALID_INDEX_COLUMN", reason=reason)
