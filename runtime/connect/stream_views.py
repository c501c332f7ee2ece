"""Temporary views of streams, and calls of `spark.catalog`, on the embedded engine.

The engine has an empty view in place of each view of a stream: so whoever asks it for tables, views
and their columns finds them, and it drops them as any other. The stream itself is a relation that
the client's session keeps.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.errors import PySparkException

from ...planner.connect import catalog_calls
from ...planner.connect.empty_rows import rows_of
from ...planner.connect.failures import table_not_found
from ...planner.connect.places import Message
from ...planner.model.errors import AnalysisError
from ...planner.model.schemas.types import StructField, StructType, as_nullable
from ...planner.model.text.quoting import to_sql_id
from ..frames import rows_frame

if TYPE_CHECKING:
    from .client_session import ClientSession

_GLOBAL = "global_temp."
_OURS = ("function_exists", "cache_table", "uncache_table", "refresh_table", "refresh_by_path",
         "clear_cache", "is_cached")  # fmt: skip
_DROP = re.compile(r"DROP\s+VIEW\s+(?:IF\s+EXISTS\s+)?(?P<name>[\w.`]+)", re.IGNORECASE)


def keep_view(session: ClientSession, name: str, relation: Message, *, replace: bool) -> None:
    """Make a view of a stream.

    Args:
        session: the client's session, on the embedded engine.
        name: of the view; one that all sessions share begins with `global_temp.`.
        relation: the stream.
        replace: whether it may take the place of another view.

    Raises:
        AnalysisError: there is a view of this name, and it may not.
    """
    if not replace:
        check_new(session, name)
    fields = session.reading().planned(relation).analyzed.schema.fields
    schema = StructType(tuple(StructField(f.name, as_nullable(f.data_type)) for f in fields))
    name = name.lower()  # as Spark's catalog lists it
    session.views[name] = relation
    try:
        empty = rows_frame(session.spark, schema, [])
        if name.startswith(_GLOBAL):
            empty.createOrReplaceGlobalTempView(name.removeprefix(_GLOBAL))
        else:
            empty.createOrReplaceTempView(name)
    except PySparkException:
        pass  # two columns of one name, or of a type that the engine has not: it knows no such view


def drop_view(session: ClientSession, name: str) -> bool:
    """Drop a view of a stream; False: there is none of this name."""
    name = name.lower()
    if session.views.pop(name, None) is None:
        return False
    catalog = session.spark.catalog
    if catalog.tableExists(name):  # the engine may have made none, see above
        if name.startswith(_GLOBAL):
            catalog.dropGlobalTempView(name.removeprefix(_GLOBAL))
        else:
            catalog.dropTempView(name)
    return True


def check_new(session: ClientSession, name: str) -> None:
    """Refuse a view of a name that there is, by Spark's condition."""
    if _exists(session, name):
        raise AnalysisError.of("TEMP_TABLE_OR_VIEW_ALREADY_EXISTS", relationName=to_sql_id(name))


def dropped_view(plan: Message) -> str | None:
    """The name of the view that a client's plan drops; None: it drops none."""
    match plan.root.catalog.WhichOneof("cat_type"):
        case "drop_temp_view":
            name = plan.root.catalog.drop_temp_view.view_name
        case "drop_global_temp_view":
            name = _GLOBAL + plan.root.catalog.drop_global_temp_view.view_name
        case _:
            text = plan.command.sql_command.input.sql.query
            found = _DROP.fullmatch(text.strip().rstrip(";").rstrip())
            if found is None:
                return None
            name = found["name"].replace("`", "")
    return str(name)


def catalog_answer(session: ClientSession, plan: Message) -> Message | None:
    """The answer to a call of `spark.catalog` that Sail has not, or fails at; None: it is Sail's.

    What is cached is computed whenever it is read.

    Raises:
        AnalysisError: a table is to be cached that is not there.
    """
    call = plan.root.catalog
    kind = call.WhichOneof("cat_type")
    if (dropped := dropped_view(plan)) is not None:
        if drop_view(session, dropped):
            return _flag(True)
        return None if _exists(session, dropped) else _flag(False)
    if kind == "table_exists" and not call.table_exists.db_name:
        return _flag(True) if call.table_exists.table_name.lower() in session.views else None
    if kind not in _OURS:
        return None
    name = getattr(getattr(call, kind), "table_name", "")
    if name and not _exists(session, name):
        raise table_not_found(name.split("."), "`spark.catalog.listTables()` has those there are.")
    (answer,) = catalog_calls.answer(session.reading(), call)
    return answer


def _exists(session: ClientSession, name: str) -> bool:
    # Sail's `tableExists` is case-sensitive, where it reads tables by names in any case.
    return name.lower() in session.views or session.spark.catalog.tableExists(name)


def _flag(value: bool) -> Message:
    return rows_of(pa.RecordBatch.from_pydict({"value": [value]}))
