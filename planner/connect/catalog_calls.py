"""`spark.catalog`: what the session knows of tables, views and databases, as rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.connect import proto

from ..model import registry
from ..model.errors import AnalysisError
from .empty_rows import rows_of
from .failures import table_not_found, unsupported
from .places import Message
from .types import read_schema

if TYPE_CHECKING:
    from .session import PlannerSession

Rows = Sequence[tuple[object, ...]]
Fields = Sequence[tuple[str, Any]]  # names and Arrow types
_CATALOG = "spark_catalog"
_VALUE = (("value", pa.string()),)
_FLAG = (("value", pa.bool_()),)
_TABLE = (
    ("name", pa.string()),
    ("catalog", pa.string()),
    ("namespace", pa.list_(pa.string())),
    ("description", pa.string()),
    ("tableType", pa.string()),
    ("isTemporary", pa.bool_()),
)
_COLUMN = (
    *((name, pa.string()) for name in ("name", "description", "dataType")),
    *((name, pa.bool_()) for name in ("nullable", "isPartition", "isBucket", "isCluster")),
)
_DATABASE = tuple((name, pa.string()) for name in ("name", "catalog", "description", "uri"))


def answer(session: PlannerSession, message: Message) -> list[Message]:
    """The rows that a call of `spark.catalog` gives.

    Raises:
        StateplanError: there is no such table, or a planner cannot know.
    """
    kind = message.WhichOneof("cat_type")
    if kind not in _CALLS:
        raise unsupported(f"spark.catalog's {kind}")
    fields, call = _CALLS[kind]
    rows = call(session, getattr(message, kind))
    columns = [pa.array([row[i] for row in rows], type_) for i, (_, type_) in enumerate(fields)]
    return [rows_of(pa.record_batch(columns, schema=pa.schema(list(fields))))]


def _list_tables(session: PlannerSession, asked: Message) -> Rows:
    database = asked.db_name or session.database
    found: list[tuple[object, ...]] = []
    for name in session.tables:
        *space, short = name.split(".")
        if (space[-1] if space else "default") == database:
            found.append((short, _CATALOG, [database], None, "MANAGED", False))
    for name in session.views:
        found.append((name, None, [], None, "TEMPORARY", True))
    return [row for row in found if fnmatchcase(str(row[0]), asked.pattern or "*")]


def _name(asked: Message) -> str:
    return f"{asked.db_name}.{asked.table_name}" if asked.db_name else asked.table_name


def _table_exists(session: PlannerSession, asked: Message) -> Rows:
    return [(session.knows(_name(asked)),)]


def _get_table(session: PlannerSession, asked: Message) -> Rows:
    name = _name(asked)
    if not session.knows(name):
        raise _unknown(name)
    if name.lower() in session.views:
        return [(name, None, [], None, "TEMPORARY", True)]
    *space, short = session.full_name(name).split(".")
    return [(short, _CATALOG, space or ["default"], None, "MANAGED", False)]


def _list_columns(session: PlannerSession, asked: Message) -> Rows:
    name = _name(asked)
    if not session.knows(name):
        raise _unknown(name)
    read = proto.Read(named_table=proto.Read.NamedTable(unparsed_identifier=name))
    schema = session.planned(proto.Relation(read=read)).analyzed.schema
    return [
        (f.name, None, f.data_type.simple, f.nullable, False, False, False) for f in schema.fields
    ]


def _unknown(name: str) -> AnalysisError:
    return table_not_found(name.split("."), "Describe its columns in a file given with --catalog.")


def _databases(session: PlannerSession) -> list[str]:
    spaces = {name.rsplit(".", 1)[0] for name in session.tables if "." in name}
    return sorted({"default", *spaces, *session.databases})


def _list_databases(session: PlannerSession, asked: Message) -> Rows:
    return [(name, _CATALOG, None, "") for name in _databases(session)]


def _database_exists(session: PlannerSession, asked: Message) -> Rows:
    return [(asked.db_name in _databases(session),)]


def _function_exists(session: PlannerSession, asked: Message) -> Rows:
    name = asked.function_name.lower()
    spec = registry.find(name)
    return [(name in session.user_functions or (spec is not None and spec.written),)]


def _drop_view(session: PlannerSession, asked: Message) -> Rows:
    return [(session.views.pop(asked.view_name.lower(), None) is not None,)]


def _use(session: PlannerSession, asked: Message) -> Rows:
    session.database = asked.db_name
    return []


def _create_table(session: PlannerSession, asked: Message) -> Rows:
    schema = read_schema(asked.schema)
    session.add_table(session.full_name(asked.table_name), schema, asked.source or "parquet")
    return []


def _nothing(session: PlannerSession, asked: Message) -> Rows:
    """What changes nothing for a planner."""
    return ()


_NOTHING = (
    *("set_current_catalog", "cache_table", "uncache_table", "clear_cache", "refresh_table"),
    *("refresh_by_path", "recover_partitions", "analyze_table"),
)
_CALLS: dict[str | None, tuple[Fields, Callable[[PlannerSession, Message], Rows]]] = {
    "current_catalog": (_VALUE, lambda session, asked: [(_CATALOG,)]),
    "list_catalogs": (_DATABASE[:2], lambda session, asked: [(_CATALOG, None)]),
    "current_database": (_VALUE, lambda session, asked: [(session.database,)]),
    "set_current_database": (_VALUE, _use),
    "list_databases": (_DATABASE, _list_databases),
    "database_exists": (_FLAG, _database_exists),
    "list_tables": (_TABLE, _list_tables),
    "table_exists": (_FLAG, _table_exists),
    "get_table": (_TABLE, _get_table),
    "list_columns": (_COLUMN, _list_columns),
    "function_exists": (_FLAG, _function_exists),
    "is_cached": (_FLAG, lambda session, asked: [(False,)]),
    "drop_temp_view": (_FLAG, _drop_view),
    "create_table": (_VALUE, _create_table),
    "create_external_table": (_VALUE, _create_table),
    **dict.fromkeys(_NOTHING, (_VALUE, _nothing)),
}
