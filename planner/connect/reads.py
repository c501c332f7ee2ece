"""What a query reads: data sources, tables, SQL text, rows that came with the plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..described_sources import files_size
from ..model.catalog import Source
from ..model.expressions.core import AttributeReference, Origin
from ..model.formats import FILE_FORMATS, fixed_schema
from ..model.plans.query_plan import LogicalPlan
from ..model.plans.relations import LocalRelation, Range, UnresolvedRelation
from ..model.schemas.open_schemas import is_placeholder
from ..model.schemas.types import LONG
from ..sql import parse
from ..sql.parameters import bound
from .failures import missing_schema, unsupported
from .foreign_sql import readable
from .names import name_parts
from .places import Message
from .rows import arrow_rows
from .types import attributes_of, read_schema

if TYPE_CHECKING:
    from .relations import RelationReader

# An option by which this package's own DataFrames name a source of the catalog.
SOURCE_OPTION = "stateplan.source"


def read(reader: RelationReader, message: Message, origin: Origin | None) -> LogicalPlan:
    """`spark.readStream...load()`, `spark.read...load()` or `spark.table(name)`.

    Raises:
        DescriptionError: the columns are not known.
    """
    if message.WhichOneof("read_type") == "named_table":
        name = message.named_table.unparsed_identifier
        return UnresolvedRelation(
            parts=name_parts(name), streaming=message.is_streaming, origin=origin
        )
    source = message.data_source
    session = reader.session
    if SOURCE_OPTION in source.options:
        return session.source_plan(session.catalog_source(source.options[SOURCE_OPTION]))
    return session.source_plan(_described(source, message.is_streaming, reader, origin))


def _described(
    message: Message, streaming: bool, reader: RelationReader, origin: Origin | None
) -> Source:
    format_ = (message.format or "parquet").lower()
    path = ",".join(message.paths) or message.options.get("path", "")
    schema = fixed_schema(format_, dict(message.options))
    if message.schema:
        schema = reader.session.guesses.same_schema(read_schema(message.schema))
    known = reader.session.known_path(path) if path else None
    if known is None and not path:
        described = reader.session.tables.get(format_)
        known = described if isinstance(described, Source) else None
    if schema is not None and "cloudfiles.schemahints" in map(str.lower, message.options):
        # Hints say the types of some columns; a catalog says what the files have besides.
        found = reader.session.guesses.hinted(path, schema)
        schema = found if known is None else known.schema
    if schema is None and known is not None:
        schema = known.schema
    if schema is None and is_placeholder(format_):
        schema = reader.session.open.schema(message.format)
    if schema is None:
        # Auto Loader adds to the columns that it infers.
        rescued = message.options.get("rescuedDataColumn", "_rescued_data")
        always = rescued if format_ == "cloudfiles" else ""
        schema = reader.session.guesses.schema(path or format_, always)
    if schema is None:
        what = f"'{path}'" if path else f"the source '{format_}'"
        raise missing_schema(what, origin, subject=path or format_)
    name = path if format_ in FILE_FORMATS and path else format_
    return Source(
        name=name,
        schema=schema,
        streaming=streaming,
        format=format_,
        location=path,
        size_in_bytes=0 if streaming else _size(message, known),
    )


def _size(message: Message, known: Source | None) -> int:
    if known is not None and known.size_in_bytes:
        return known.size_in_bytes
    return sum(map(files_size, message.paths or [message.options.get("path", "")]))


def sql(reader: RelationReader, message: Message, origin: Origin | None) -> LogicalPlan:
    """`spark.sql(text)`: the views and tables of the session by their names."""
    if message.args or message.pos_args:
        raise unsupported("A parameter of spark.sql() as an old client sends it", origin)
    read = reader.expressions.read
    named = {name: read(value) for name, value in message.named_arguments.items()}
    with bound(named, [read(value) for value in message.pos_arguments]):
        scripted = reader.session.scripted
        text = readable(reader.session, message.query) if scripted else message.query
        plan = parse(text, reader.session.conf)
    if not reader.session.named_functions:
        return plan
    called = reader.session.called
    return plan.transform_up(lambda node: node.transform_expressions(called))


def local_relation(reader: RelationReader, message: Message, origin: Origin | None) -> LogicalPlan:
    """`spark.createDataFrame(...)`: rows that came with the plan."""
    schema = read_schema(message.schema) if message.schema else None
    schema, rows = arrow_rows(message.data if message.HasField("data") else None, schema)
    return LocalRelation(attributes=attributes_of(schema), rows=rows)


def numbers(reader: RelationReader, message: Message, origin: Origin | None) -> LogicalPlan:
    """`spark.range(...)`."""
    column = AttributeReference(name="id", type_=LONG, is_nullable=False)
    return Range(
        start=message.start,
        end=message.end,
        step=message.step,
        slices=message.num_partitions if message.HasField("num_partitions") else None,
        attributes=(column,),
        origin=origin,
    )
