"""What a program gives to run a query with: sources, sinks and listeners in all their forms."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..planner.described_sources import described_sources
from ..planner.description import SinkDescription, SourceDescription, parse_description
from ..planner.model.catalog import Source as Known
from ..planner.model.errors import DescriptionError
from ..planner.model.schemas.ddl import parse_schema
from ..planner.model.schemas.types import StructType, as_nullable
from ..planner.model.text.time_zones import zone as time_zone
from .options import Options
from .rows import read_rows
from .sinks import SINKS, ForeachBatchSink, PythonSink, Sink, make_sink
from .sources import MemorySource, PythonSource, Source, make_source
from .sources.python import data_source, is_data_source
from .sources.tables import FilesTable, RowsTable, Table, ValuesTable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SINKS = (
    f"a format ({', '.join(SINKS)}), a mapping as in a description such as "
    "{'format': 'parquet', 'path': 'out'}, a function of a DataFrame and the batch's id, a Sink, "
    "or a DataSource of PySpark's"
)
_SOURCES = (
    "a mapping as in a description such as {'format': 'json', 'path': 'in'}, rows (a list, a "
    "pyarrow Table or a pandas DataFrame), a Source, or a DataSource of PySpark's"
)


def sink_of(
    given: object, path: Callable[[str | None], str | None], spark: SparkSession, name: str | None
) -> Sink:
    """The sink of a query.

    Args:
        given: a format, a mapping, a description, a function of a DataFrame and the batch's id, or
            a sink.
        path: makes the path of a description relative to its file.
        spark: the session that shows a memory sink's view.
        name: the memory sink's view.

    Raises:
        DescriptionError: it is none of these, or a key or option of it is wrong.
    """
    if isinstance(given, Sink):
        return given
    if isinstance(given, str | Mapping):
        written = {"format": given} if isinstance(given, str) else dict(given)
        given = parse_description({"sql": "", "sink": written}, "the sink").sink
        path = _as_written
    if isinstance(given, SinkDescription):
        return make_sink(
            given.format,
            path=path(given.path),
            table=given.table,
            options=given.options,
            partition_by=given.partition_by,
            spark=spark,
            name=name,
        )
    if is_data_source(given):
        return PythonSink(_instance(given))
    if callable(given) and not isinstance(given, type):
        _check_function(given)
        return ForeachBatchSink(given)
    raise _unusable("STATEPLAN_BAD_SINK", "the sink", given, _SINKS)


def _as_written(path: str | None) -> str | None:
    return path


def _check_function(function: Callable[..., object]) -> None:
    try:
        inspect.signature(function).bind(None, 0)
    except ValueError:
        return  # of a builtin nothing is known
    except TypeError as error:
        name = getattr(function, "__name__", repr(function))
        raise DescriptionError(
            "STATEPLAN_BAD_SINK",
            f"The function '{name}' cannot be the sink: called with a DataFrame and the batch's "
            f"id, it fails: {error}.",
            hint=f"Write it as: def {name}(frame, batch_id).",
        ) from None


def source_of(name: str, given: object, known: Known, zone: str) -> Source | Table:
    """What a query reads under a name.

    Args:
        name: the name.
        given: a format, a mapping, rows, or a source; for a table at rest also a table.
        known: the source as the query was planned with it.
        zone: the time zone of timestamps that have none.

    Raises:
        DescriptionError: it is none of these, a key or row of it is wrong, or it has other columns
            than the query was planned with.
    """
    if isinstance(given, Source if known.streaming else Table):
        found: Any = given
        _check_columns(name, found.schema, known.schema)
        return found  # type: ignore[no-any-return]
    what = f"the source '{name}'"
    if known.streaming and is_data_source(given):
        source = PythonSource(_instance(given))
        _check_columns(name, source.schema, known.schema)
        return source
    if isinstance(given, str | Mapping) and known.streaming:
        written = {"format": given} if isinstance(given, str) else dict(given)
        described: SourceDescription = described_sources({name: written}, what)[name]
        schema = known.schema
        if described.schema_ is not None:
            schema = parse_schema(described.schema_)
            _check_columns(name, schema, known.schema)
        made = make_source(
            described.format, path=described.path, schema=schema, options=described.options
        )
        _check_columns(name, made.schema, known.schema)
        return made
    if isinstance(given, type | str | Mapping | bytes) or not _has_rows(given):
        raise _unusable("STATEPLAN_BAD_SOURCE", what, given, _SOURCES)
    fields = known.schema.fields
    rows = read_rows(given, fields, time_zone(zone), what)
    if not known.streaming:
        return ValuesTable(rows, known.schema)
    memory = MemorySource(known.schema)
    memory.add(rows)
    return memory


def inputs_of(
    described: Mapping[str, SourceDescription],
    given: Mapping[str, Source | Table],
    path: Callable[[str | None], str | None],
) -> tuple[dict[str, Source], dict[str, Table]]:
    """The streams and the tables at rest of a query, by name: those given, the others as described.

    Args:
        described: all that the query was planned with.
        given: what takes the place of some of them.
        path: makes the path of a description relative to its file.

    Raises:
        StateplanError: a source cannot be made as it is described.
    """
    streams = {name: one for name, one in given.items() if isinstance(one, Source)}
    tables = {name: one for name, one in given.items() if isinstance(one, Table)}
    for name, source in described.items():
        if name in given:
            continue
        if source.static:
            tables[name] = described_table(source, path)
        else:
            streams[name] = make_source(
                source.format,
                path=path(source.path),
                schema=None if source.schema_ is None else parse_schema(source.schema_),
                options=source.options,
            )
    return streams, tables


def described_table(source: SourceDescription, path: Callable[[str | None], str | None]) -> Table:
    """A table at rest as it is described; `path` as in `inputs_of`."""
    schema = StructType(()) if source.schema_ is None else parse_schema(source.schema_)
    if source.rows is not None:
        return RowsTable(source.rows, schema)
    return FilesTable(path(source.path) or "", source.format, schema, source.options)


def _instance(given: Any) -> Any:
    """A PySpark DataSource, given itself or by its class."""
    return (
        data_source(given, Options({}, "the data source"), None)
        if isinstance(given, type)
        else given
    )


def _has_rows(given: object) -> bool:
    return hasattr(given, "__iter__") or hasattr(given, "to_pylist")


def _check_columns(name: str, given: StructType, planned: StructType) -> None:
    if as_nullable(given) != as_nullable(planned):
        raise DescriptionError(
            "STATEPLAN_SOURCE_COLUMNS",
            f"The source given for '{name}' has the columns {given.sql}, but the query was planned "
            f"with {planned.sql}.",
            hint="Give one of the same columns, or plan the query with these.",
        )


def check_names(given: Mapping[str, object], known: Mapping[str, Known]) -> None:
    """Raise DescriptionError for a source that the query does not know."""
    for name in given:
        if name not in known:
            raise DescriptionError(
                "STATEPLAN_SOURCE_UNKNOWN",
                f"A source '{name}' is given, which the query does not read.",
                hint=f"It reads {', '.join(known) or 'none'}.",
            )


def _unusable(condition: str, what: str, given: object, usable: str) -> DescriptionError:
    kind = f"the class {given.__name__}" if isinstance(given, type) else type(given).__name__
    return DescriptionError(
        condition, f"{what[0].upper()}{what[1:]} is {kind}: {given!r:.80}.", hint=f"Give {usable}."
    )
