"""Operations on a DataFrame's columns, as the select lists that PySpark makes of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..model.errors import AnalysisError
from ..model.expressions import Alias, AttributeReference, Cast, Expression, Literal, Origin
from ..model.logical import Project
from ..model.query_plan import LogicalPlan
from ..model.types import (
    NULL,
    BooleanType,
    DataType,
    DoubleType,
    FloatType,
    NumericType,
    StringType,
)
from ..model.unresolved import UnresolvedAttribute, UnresolvedFunction
from .literals import literal_of
from .names import name_parts
from .places import Message

if TYPE_CHECKING:
    from .relations import RelationReader


def with_columns(reader: RelationReader, message: Message, origin: Origin | None) -> LogicalPlan:
    """`withColumn`: columns of those names are replaced where they stand, others added behind."""
    child = reader.child(message.input)
    new = {a.name[0]: reader.expressions.read(a.expr) for a in message.aliases}
    fold = reader.session.fold
    _refuse_duplicates([alias.name[0] for alias in message.aliases], reader)
    by_name = {fold(name): (name, value) for name, value in new.items()}
    entries: list[Expression] = []
    for column in child.output:
        found = by_name.get(fold(column.name))
        entries.append(column if found is None else Alias(child=found[1], name=found[0]))
    existing = {fold(column.name) for column in child.output}
    entries += [Alias(child=v, name=n) for n, v in new.items() if fold(n) not in existing]
    return Project(child=child, project_list=tuple(entries), origin=origin)


def with_columns_renamed(
    reader: RelationReader, message: Message, origin: Origin | None
) -> LogicalPlan:
    """`withColumnRenamed`: names that there are not change nothing."""
    child = reader.child(message.input)
    fold = reader.session.fold
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
    fold = reader.session.fold
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
        old = ", ".join(column.name for column in child.output)
        raise AnalysisError(
            None,
            "requirement failed: The number of columns doesn't match.\n"
            f"Old column names ({len(child.output)}): {old}\n"
            f"New column names ({len(names)}): {', '.join(names)}",
            hint="Give one name for each column.",
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
        columns = [_column(name, child, reader) for name in named] or list(child.output)
        chosen = {c.expr_id: values[0] for c in columns if _takes(c.data_type, values[0])}
    else:
        for name, value in zip(named, values, strict=True):
            chosen[_column(name, child, reader).expr_id] = value
    entries = tuple(
        Alias(child=_filled(c, chosen[c.expr_id], reader), name=c.name)
        if c.expr_id in chosen
        else c
        for c in child.output
    )
    return Project(child=child, project_list=entries, origin=origin)


def _column(name: str, child: LogicalPlan, reader: RelationReader) -> AttributeReference:
    found = reader.session.resolved_over(child, UnresolvedAttribute(parts=name_parts(name)))
    if isinstance(found, AttributeReference):
        return found
    raise reader.session.unknown(name_parts(name), child, None)


def _takes(data_type: DataType, value: Literal) -> bool:
    match value.data_type:
        case StringType():
            return isinstance(data_type, StringType)
        case BooleanType():
            return isinstance(data_type, BooleanType)
        case _:
            return isinstance(data_type, NumericType)


def _filled(column: AttributeReference, value: Literal, reader: RelationReader) -> Expression:
    inner: Expression = column
    if isinstance(column.data_type, DoubleType | FloatType):
        nothing = Literal(value=None, type_=NULL)
        inner = UnresolvedFunction(name="nanvl", arguments=(column, nothing))
    filled = Cast(child=value, type_=column.data_type)
    return UnresolvedFunction(name="coalesce", arguments=(inner, filled))


def _refuse_duplicates(names: list[str], reader: RelationReader) -> None:
    fold = reader.session.fold
    seen: set[str] = set()
    for name in names:
        if fold(name) in seen:
            raise AnalysisError(
                "COLUMN_ALREADY_EXISTS",
                f"[COLUMN_ALREADY_EXISTS] The column `{fold(name)}` already exists. Choose another"
                " name or rename the existing column. SQLSTATE: 42711",
                hint="Give each new column a name of its own.",
            )
        seen.add(fold(name))
