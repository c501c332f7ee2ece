"""Operations on a DataFrame's columns, as the select lists that PySpark makes of them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ...rules.analysis.names.names import unresolved_column
from ..model.errors import AnalysisError
from ..model.expressions.core import (
    Alias,
    AttributeReference,
    CaseWhen,
    Cast,
    Expression,
    Literal,
    Metadata,
    Origin,
    lit,
)
from ..model.expressions.unresolved import UnresolvedAttribute, UnresolvedFunction
from ..model.plans.logical import Filter, Project
from ..model.plans.pivot import UnresolvedUnpivot
from ..model.plans.query_plan import LogicalPlan
from ..model.schemas.types import (
    DOUBLE,
    NULL,
    BooleanType,
    DataType,
    DoubleType,
    FloatType,
    NumericType,
    StringType,
    StructType,
)
from ..model.settings.conf import Conf
from ..model.text.quoting import to_sql_id
from .literals import literal_of
from .names import name_parts
from .places import Message
from .types import from_proto

if TYPE_CHECKING:
    from .relations import RelationReader


def with_columns(reader: RelationReader, message: Message, origin: Origin | None) -> LogicalPlan:
    """`withColumn`: columns of those names are replaced where they stand, others added behind."""
    child = reader.child(message.input)
    new = {a.name[0]: reader.expressions.read(a.expr) for a in message.aliases}
    given = {a.name[0]: a.metadata for a in message.aliases if a.HasField("metadata")}
    fold = reader.session.conf.fold
    refuse_duplicates([alias.name[0] for alias in message.aliases], reader.session.conf)
    by_name = {fold(name): (name, value) for name, value in new.items()}
    entries: list[Expression] = []

    def named(name: str, value: Expression) -> Alias:
        metadata = Metadata(given=given[name]) if name in given else None
        return Alias(child=value, name=name, explicit_metadata=metadata)

    for column in child.output:
        found = by_name.get(fold(column.name))
        entries.append(column if found is None else named(*found))
    existing = {fold(column.name) for column in child.output}
    entries += [named(n, v) for n, v in new.items() if fold(n) not in existing]
    return Project(child=child, project_list=tuple(entries), origin=origin)


def with_columns_renamed(
    reader: RelationReader, message: Message, origin: Origin | None
) -> LogicalPlan:
    """`withColumnRenamed`: names that there are not change nothing."""
    child = reader.child(message.input)
    fold = reader.session.conf.fold
    renames = [(r.col_name, r.new_col_name) for r in message.renames]
    renames = renames or list(message.rename_columns_map.items())
    entries: list[AttributeReference | Alias] = list(child.output)
    changed = False
    for old, new in renames:
        for index, entry in enumerate(entries):
            if fold(entry.name) == fold(old):
                inner = entry.child if isinstance(entry, Alias) else entry
                entries[index] = Alias(child=inner, name=new)
                changed = True
    return Project(child=child, project_list=tuple(entries), origin=origin) if changed else child


def drop(reader: RelationReader, message: Message, origin: Origin | None) -> LogicalPlan:
    """`drop`: by names, or by columns; those that there are not are left out."""
    child = reader.child(message.input)
    fold = reader.session.conf.fold
    names = {fold(name) for name in message.column_names}
    ids: set[int] = set()
    for item in message.columns:
        column = reader.expressions.read(item)
        if isinstance(column, UnresolvedAttribute):
            column = reader.session.resolved_over(child, column) or column
        if isinstance(column, AttributeReference):
            ids.add(column.expr_id)
    kept = tuple(
        column
        for column in child.output
        if fold(column.name) not in names and column.expr_id not in ids
    )
    if len(kept) == len(child.output):
        return child
    return Project(child=child, project_list=kept, origin=origin)


def to_df(reader: RelationReader, message: Message, origin: Origin | None) -> LogicalPlan:
    """`toDF`: all columns under new names.

    Raises:
        AnalysisError: there are more or fewer names than columns.
    """
    child = reader.child(message.input)
    names = list(message.column_names)
    if len(names) != len(child.output):
        raise AnalysisError.of(
            "ASSIGNMENT_ARITY_MISMATCH", numTarget=len(child.output), numExpr=len(names)
        )
    renamed = tuple(Alias(child=a, name=n) for a, n in zip(child.output, names, strict=True))
    return Project(child=child, project_list=renamed, origin=origin)


def fill_na(reader: RelationReader, message: Message, origin: Origin | None) -> LogicalPlan:
    """`fillna`: `coalesce(column, value)` for columns whose type fits the value's.

    One value goes into all named columns of its kind (all columns without names), several into
    the columns in turn. NaN counts as missing.
    """
    child = reader.child(message.input)
    values = [literal_of(value) for value in message.values]
    named = list(message.cols)
    chosen: dict[int, Literal] = {}
    if len(values) == 1:
        found = [_value(name, child, reader) for name in named]
        # A field of a column is left as it is.
        columns = [c for c in found or child.output if isinstance(c, AttributeReference)]
        chosen = {c.expr_id: values[0] for c in columns if _takes(c.data_type, values[0])}
    else:
        for name, value in zip(named, values, strict=True):
            chosen[_column(name, child, reader).expr_id] = value
    entries = tuple(
        Alias(child=_filled(c, chosen[c.expr_id]), name=c.name) if c.expr_id in chosen else c
        for c in child.output
    )
    return Project(child=child, project_list=entries, origin=origin)


def to_schema(reader: RelationReader, message: Message, origin: Origin | None) -> LogicalPlan:
    """`to(schema)`: columns by name, in the schema's order, cast to its types.

    Raises:
        AnalysisError: a column is missing that may not be null.
    """
    child = reader.child(message.input)
    wanted = from_proto(message.schema)
    assert isinstance(wanted, StructType)
    context = reader.session.context()
    entries: list[Expression] = []
    for field in wanted.fields:
        found = reader.session.resolved_over(child, UnresolvedAttribute(parts=(field.name,)))
        if found is None:
            if not field.nullable:
                raise unresolved_column((field.name,), child.output, origin)
            nothing = Literal(value=None, type_=field.data_type)
            entries.append(Alias(child=nothing, name=field.name))
        elif found.data_type == field.data_type and isinstance(found, AttributeReference):
            same = found.name == field.name
            entries.append(found if same else Alias(child=found, name=field.name))
        else:
            entries.append(Alias(child=context.cast(found, field.data_type), name=field.name))
    return Project(child=child, project_list=tuple(entries), origin=origin)


def drop_na(reader: RelationReader, message: Message, origin: Origin | None) -> LogicalPlan:
    """`dropna`: the rows with at least so many values in the named columns (all by default)."""
    child = reader.child(message.input)
    columns = [_value(name, child, reader) for name in message.cols] or list(child.output)
    least = message.min_non_nulls if message.HasField("min_non_nulls") else len(columns)
    condition = UnresolvedFunction(name="atleastnnonnulls", arguments=(lit(least), *columns))
    return Filter(child=child, condition=condition, origin=origin)


def replace_values(reader: RelationReader, message: Message, origin: Origin | None) -> LogicalPlan:
    """`replace`: CASE over the column in columns of the values' type; numbers meet as doubles."""
    child = reader.child(message.input)
    named = {_column(name, child, reader).expr_id for name in message.cols}
    pairs = [
        (_replaced(literal_of(r.old_value)), _replaced(literal_of(r.new_value)))
        for r in message.replacements
    ]
    entries = tuple(
        Alias(child=_case_of(column, pairs), name=column.name)
        if pairs
        and (not named or column.expr_id in named)
        and _takes(column.data_type, pairs[0][0])
        else column
        for column in child.output
    )
    return Project(child=child, project_list=entries, origin=origin)


def _replaced(value: Literal) -> Literal:
    number = value.value
    if isinstance(number, int | float) and not isinstance(number, bool):
        return Literal(value=float(number), type_=DOUBLE)
    return value


def _case_of(column: AttributeReference, pairs: list[tuple[Literal, Literal]]) -> CaseWhen:
    return CaseWhen(
        conditions=tuple(UnresolvedFunction(name="=", arguments=(column, old)) for old, _ in pairs),
        values=tuple(Cast(child=new, type_=column.data_type) for _, new in pairs),
        otherwise=column,
    )


def unpivot(reader: RelationReader, message: Message, origin: Origin | None) -> LogicalPlan:
    """`unpivot`: each row once per value column, with the column's name and value."""
    child = reader.child(message.input)  # first: columns may name it
    chosen = None
    if message.HasField("values"):
        chosen = tuple((e,) for e in reader.expressions.named_all(message.values.values))
    return UnresolvedUnpivot(
        child=child,
        ids=reader.expressions.named_all(message.ids),
        columns=chosen,
        value_names=(message.value_column_name,),
        name_column=message.variable_column_name,
        include_nulls=True,
        origin=origin,
    )


def matching(reader: RelationReader, child: LogicalPlan, pattern: str) -> list[AttributeReference]:
    """The columns whose whole name a `colRegex` pattern matches, in back quotes or not."""
    flags = 0 if reader.session.conf.case_sensitive else re.IGNORECASE
    wanted = re.compile(pattern.strip("`"), flags)
    return [column for column in child.output if wanted.fullmatch(column.name)]


def _column(name: str, child: LogicalPlan, reader: RelationReader) -> AttributeReference:
    found = reader.session.resolved_over(child, UnresolvedAttribute(parts=name_parts(name)))
    if isinstance(found, AttributeReference):
        return found
    raise unresolved_column(name_parts(name), child.output, None, ordered=False)


def _value(name: str, child: LogicalPlan, reader: RelationReader) -> Expression:
    """A column, or a field of one."""
    found = reader.session.resolved_over(child, UnresolvedAttribute(parts=name_parts(name)))
    if found is None:
        raise unresolved_column(name_parts(name), child.output, None, ordered=False)
    return found.child if isinstance(found, Alias) else found


def _takes(data_type: DataType, value: Literal) -> bool:
    match value.data_type:
        case StringType():
            return isinstance(data_type, StringType)
        case BooleanType():
            return isinstance(data_type, BooleanType)
        case _:
            return isinstance(data_type, NumericType)


def _filled(column: AttributeReference, value: Literal) -> Expression:
    inner: Expression = column
    if isinstance(column.data_type, DoubleType | FloatType):
        nothing = Literal(value=None, type_=NULL)
        inner = UnresolvedFunction(name="nanvl", arguments=(column, nothing))
    filled = Cast(child=value, type_=column.data_type)
    return UnresolvedFunction(name="coalesce", arguments=(inner, filled))


def refuse_duplicates(names: Iterable[str], conf: Conf) -> None:
    """Refuse columns of which two have one name to Spark.

    Raises:
        AnalysisError: COLUMN_ALREADY_EXISTS.
    """
    seen: set[str] = set()
    for name in map(conf.fold, names):
        if name in seen:
            raise AnalysisError.of(
                "COLUMN_ALREADY_EXISTS",
                hint="Give each new column a name of its own.",
                columnName=to_sql_id(name),
            )
        seen.add(name)
