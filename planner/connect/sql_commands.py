"""SQL statements that are no queries: those that say what there is are remembered, others ignored.

A script may make its tables before it reads them: their columns are taken from CREATE TABLE.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from pyspark.sql.connect import proto

from ..model.errors import AnalysisError
from ..model.schemas.ddl import parse_schema
from ..sql.cursor import QUERY_WORDS
from .console import Call
from .failures import table_not_found, unsupported
from .places import Message

if TYPE_CHECKING:
    from .session import PlannerSession

_FLAGS = re.IGNORECASE | re.DOTALL
_NAME = r"(?P<name>(?:`[^`]+`|\?[^?]+\?|[\w.])+)"  # with a placeholder for what is not here
_COMMENTS = re.compile(r"(?:\s+|--[^\n]*(?:\n|$)|/\*(?!\+).*?\*/)+", re.DOTALL)
# Things that a catalog holds and that queries do not read.
_THINGS = (
    r"(?:EXTERNAL\s+)?"
    r"(?:CATALOG|VOLUME|LOCATION|STORAGE|CONNECTION|CREDENTIAL|SHARE|RECIPIENT)"
)
_OTHER_THINGS = re.compile(
    r"(?:CREATE|DROP)\s+(?:OR\s+REPLACE\s+)?(?:FOREIGN\s+|EXTERNAL\s+|TEMP(?:ORARY)?\s+)?"
    rf"(?:{_THINGS}|FUNCTION|ROLE|GROUP|INDEX|POLICY)\b"
    r"|(?:REVOKE|DENY|REORG|FSCK|CONVERT|RESTORE|GENERATE|DECLARE|SYNC|UNDROP)\b",
    re.IGNORECASE,
)
_TO_BE_WRITTEN = re.compile(r"(INSERT|MERGE|UPDATE|DELETE|COPY|LOAD)\b", re.IGNORECASE)

Handler = Callable[["PlannerSession", re.Match[str]], None]


def carry_out(call: Call, text: str) -> bool:
    """Carry out a statement that is no query; False if it is one.

    Raises:
        StateplanError: what it is made of is refused.
    """
    text = _bare(text)
    for pattern, handler in _COMMANDS:
        if found := pattern.fullmatch(text):
            handler(call.session, found)
            return True
    if _OTHER_THINGS.match(text):
        call.note(f"{' '.join(text.split()[:2]).upper()} changes no plan: it is left out")
        return True
    if _TO_BE_WRITTEN.match(text):
        call.note(f"{text.split()[0].upper()} is not carried out: nothing runs")
        return True
    return False


def answer_schema(text: str) -> str | None:
    """The columns of what DESCRIBE, SHOW, EXPLAIN or SET answers, as DDL; None of other statements.

    They are those that Spark 4.3 gives, of HISTORY and DETAIL those of Delta Lake, of LIST those of
    Databricks, and of its other things those that the code uses.
    """
    bare = _bare(text)
    return next((schema for pattern, schema in _ANSWERS if pattern.match(bare)), None)


def command_name(text: str) -> str | None:
    """How Spark's messages call a statement that is no query; None of a query."""
    words = [word.upper() for word in re.findall(r"\w+", _bare(text)[:200])]
    if not words or words[0] in QUERY_WORDS:
        return None
    if words[0] == "CREATE":
        return "CreateViewCommand" if "VIEW" in words[:5] else "CreateTable"
    return _COMMAND_NAMES.get(words[0], f"{words[0].capitalize()}Command")


_HISTORY = (
    "version BIGINT, timestamp TIMESTAMP, userId STRING, userName STRING, operation STRING,"
    " operationParameters MAP<STRING, STRING>, readVersion BIGINT, isolationLevel STRING,"
    " isBlindAppend BOOLEAN, operationMetrics MAP<STRING, STRING>, userMetadata STRING"
)
_DETAIL = (
    "format STRING, id STRING, name STRING, description STRING, location STRING,"
    " createdAt TIMESTAMP, lastModified TIMESTAMP, partitionColumns ARRAY<STRING>,"
    " clusteringColumns ARRAY<STRING>, numFiles BIGINT, sizeInBytes BIGINT,"
    " properties MAP<STRING, STRING>"
)
_TEMPORARY = "isTemporary BOOLEAN"
_ANSWERS = tuple(
    (re.compile(pattern + r"\b", re.IGNORECASE), schema)
    for pattern, schema in (
        (r"DESC(?:RIBE)?\s+HISTORY", _HISTORY),
        (r"DESC(?:RIBE)?\s+DETAIL", _DETAIL),
        (
            r"DESC(?:RIBE)?\s+(?:DATABASE|SCHEMA|NAMESPACE)",
            "info_name STRING, info_value STRING",
        ),
        (r"DESC(?:RIBE)?\s+FUNCTION", "function_desc STRING"),
        (rf"DESC(?:RIBE)?\s+{_THINGS}", "?DESCRIBE?"),
        (r"DESC(?:RIBE)?", "col_name STRING, data_type STRING, comment STRING"),
        (
            r"SHOW\s+TABLE\s+EXTENDED",
            f"namespace STRING, tableName STRING, {_TEMPORARY}, information STRING",
        ),
        (r"SHOW\s+TABLES", f"namespace STRING, tableName STRING, {_TEMPORARY}"),
        (r"SHOW\s+VIEWS", f"namespace STRING, viewName STRING, {_TEMPORARY}"),
        (r"SHOW\s+(?:DATABASES|SCHEMAS|NAMESPACES)", "namespace STRING"),
        (r"SHOW\s+COLUMNS", "col_name STRING"),
        (r"SHOW\s+CREATE\s+TABLE", "createtab_stmt STRING"),
        (r"SHOW\s+PARTITIONS", "partition STRING"),
        (r"SHOW\s+TBLPROPERTIES", "key STRING, value STRING"),
        (r"SHOW\s+(?:\w+\s+)?FUNCTIONS", "function STRING"),
        (r"SHOW\s+CATALOGS", "catalog STRING"),
        (r"SHOW\s+CURRENT\s+(?:NAMESPACE|DATABASE|SCHEMA)", "catalog STRING, namespace STRING"),
        (r"SHOW", "?SHOW?"),
        (r"EXPLAIN", "plan STRING"),
        (r"LIST(?=\s+['`\"])", "path STRING, name STRING, size BIGINT, modification_time BIGINT"),
        (r"SET(?=\s*$|\s+[\w.]+\s*$)", "key STRING, value STRING"),
    )
)
_COMMAND_NAMES = {
    "INSERT": "InsertIntoStatement",
    "DROP": "DropTable",
    "USE": "SetCatalogAndNamespace",
}


def created_view(text: str) -> tuple[str, Message] | None:
    """The name and the query of the view that a statement creates, if it does."""
    found = _COMMANDS[0][0].fullmatch(_bare(text))
    return None if found is None else _view(found)


def _bare(text: str) -> str:
    start = _COMMENTS.match(text)
    return text[start.end() if start else 0 :].rstrip().rstrip(";").rstrip()


def _view(found: re.Match[str]) -> tuple[str, Message]:
    name = found["name"].replace("`", "")
    if found["kind"] and "GLOBAL" in found["kind"].upper():
        name = f"global_temp.{name}"
    return name, proto.Relation(sql=proto.SQL(query=found["query"]))


def _create_view(session: PlannerSession, found: re.Match[str]) -> None:
    name, query = _view(found)
    if found["tolerant"] and name.lower() in session.views:
        return
    replaces = found["replace"] is not None
    session.create_view(name, query, replace_existing=replaces)


def _create_table(session: PlannerSession, found: re.Match[str]) -> None:
    name = session.full_name(found["name"])
    if name in session.tables and found["tolerant"]:
        return
    columns, end = _bracket(found["rest"])
    rest = found["rest"][end:]
    kind = re.search(r"\bUSING\s+(\w+)", rest, re.IGNORECASE)
    format_ = kind[1].lower() if kind else "parquet"
    query = re.search(r"\bAS\s*(\(*\s*(?:SELECT|WITH|FROM|TABLE|VALUES)\b.*)", rest, _FLAGS)
    location = re.search(r"\bLOCATION\s+(['\"])(.*?)\1", rest, _FLAGS)
    if query:
        relation = proto.Relation(sql=proto.SQL(query=query[1]))
    elif location and not columns:
        source = proto.Read.DataSource(format=format_, paths=[location[2]])
        relation = proto.Relation(read=proto.Read(data_source=source))
    if query or (location and not columns):
        frame = session.planned(relation)
        session.add_table(name, frame.analyzed.schema, format_, query=relation)
    elif columns:
        session.add_table(name, parse_schema(columns), format_)
    elif not session.scripted:  # else it is described in the catalog, or guessed, where it is read
        raise unsupported("CREATE TABLE without columns")


def _bracket(text: str) -> tuple[str, int]:
    """What stands in the brackets that the text begins with, and where they end."""
    if not text.startswith("("):
        return "", 0
    depth = 0
    for place, letter in enumerate(text):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if not depth:
            return text[1:place], place + 1
    return text[1:], len(text)


def _drop_view(session: PlannerSession, found: re.Match[str]) -> None:
    name = found["name"].replace("`", "").lower()
    if session.views.pop(name, None) is None and not found["tolerant"]:
        raise _not_found(name, "DROP VIEW IF EXISTS")


def _drop_table(session: PlannerSession, found: re.Match[str]) -> None:
    if session.tables.pop(session.full_name(found["name"]), None) is None and not found["tolerant"]:
        raise _not_found(found["name"], "DROP TABLE IF EXISTS")


def _not_found(name: str, instead: str) -> AnalysisError:
    return table_not_found((name,), f"Write {instead}.")


def _set(session: PlannerSession, found: re.Match[str]) -> None:
    session.settings[found["key"]] = found["value"].strip()


def _reset(session: PlannerSession, found: re.Match[str]) -> None:
    keys = [found["key"]] if found["key"] else list(session.settings)
    for key in keys:
        session.settings.pop(key, None)


def _use(session: PlannerSession, found: re.Match[str]) -> None:
    session.database = found["name"].replace("`", "").split(".")[-1]


def _create_database(session: PlannerSession, found: re.Match[str]) -> None:
    session.databases.add(found["name"].replace("`", ""))


def _ignored(session: PlannerSession, found: re.Match[str]) -> None:
    """What changes nothing that a plan is made of."""


# Comments and properties of a view change no plan.
_OF_VIEW = r"(?:\s*COMMENT\s+(?:'[^']*'|\"[^\"]*\")|\s*TBLPROPERTIES\s*\([^)]*\))*"
_DATABASE = r"(?:DATABASE|SCHEMA|NAMESPACE)"
_COMMANDS: tuple[tuple[re.Pattern[str], Handler], ...] = tuple(
    (re.compile(pattern, _FLAGS), handler)
    for pattern, handler in (
        (
            r"CREATE\s+(?P<replace>OR\s+REPLACE\s+)?(?P<kind>(?:GLOBAL\s+)?TEMP(?:ORARY)?\s+)?VIEW"
            rf"\s+(?P<tolerant>IF\s+NOT\s+EXISTS\s+)?{_NAME}{_OF_VIEW}\s*\bAS\b\s*(?P<query>.*)",
            _create_view,
        ),
        (
            r"CREATE\s+(?:OR\s+REPLACE\s+)?(?:EXTERNAL\s+)?TABLE"
            rf"\s+(?P<tolerant>IF\s+NOT\s+EXISTS\s+)?{_NAME}\s*(?P<rest>.*)",
            _create_table,
        ),
        (rf"CREATE\s+{_DATABASE}\s+(?:IF\s+NOT\s+EXISTS\s+)?{_NAME}\b.*", _create_database),
        (rf"DROP\s+VIEW\s+(?P<tolerant>IF\s+EXISTS\s+)?{_NAME}", _drop_view),
        (rf"DROP\s+TABLE\s+(?P<tolerant>IF\s+EXISTS\s+)?{_NAME}(?:\s+PURGE)?", _drop_table),
        (rf"DROP\s+{_DATABASE}\b.*", _ignored),
        (rf"USE\s+(?:{_DATABASE}\s+|CATALOG\s+)?{_NAME}", _use),
        (r"SET\s+(?P<key>[\w.]+)\s*=\s*(?P<value>.*)", _set),
        (r"RESET(?:\s+(?P<key>[\w.]+))?", _reset),
        (r"(?:ALTER|ANALYZE|CACHE|UNCACHE|CLEAR\s+CACHE|REFRESH|MSCK|COMMENT|GRANT)\b.*", _ignored),
        (r"(?:OPTIMIZE|VACUUM|TRUNCATE|ADD\s+(?:JAR|FILE)S?)\b.*", _ignored),
    )
)
