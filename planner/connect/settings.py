"""The Config call: a session's settings, over Spark's defaults."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.connect import proto

from ..model.errors import DescriptionError
from ..model.settings.conf import DEFAULTS, Conf
from ..model.settings.conf_checks import check_settings
from ..model.text.quoting import in_quotes
from .places import Message

if TYPE_CHECKING:
    from .session import PlannerSession

# What the client asks for beyond the planner's own settings.
_CLIENT_DEFAULTS = {
    "spark.app.name": "stateplan",
    "spark.master": "stateplan",
    "spark.sql.warehouse.dir": "spark-warehouse",
    "spark.sql.execution.pandas.convertToArrowArraySafely": "false",
    "spark.sql.execution.arrow.pyspark.enabled": "false",
    "spark.sql.execution.arrow.useLargeVarTypes": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
    "spark.sql.execution.pandas.structHandlingMode": "legacy",
    "spark.sql.execution.pandas.inferPandasDictAsMap": "false",
    "spark.sql.pyspark.inferNestedDictAsStruct.enabled": "false",
    "spark.sql.pyspark.legacy.inferArrayTypeFromFirstElement.enabled": "false",
    "spark.sql.pyspark.legacy.inferMapTypeFromFirstPair.enabled": "false",
    "spark.sql.pyspark.jvmStacktrace.enabled": "false",
    "spark.sql.connect.serverStacktrace.enabled": "false",
    "spark.sql.execution.arrow.pyspark.fallback.enabled": "true",
    "spark.sql.execution.arrow.pyspark.selfDestruct.enabled": "false",
    "spark.sql.execution.pyspark.binaryAsBytes": "true",
    "spark.sql.execution.pythonUDF.arrow.enabled": "true",
    "spark.sql.execution.pythonUDTF.arrow.enabled": "false",
    "spark.sql.session.localRelationSizeLimit": str(2**40),
    "spark.sql.session.localRelationCacheThreshold": str(2**40),
    "spark.sql.session.localRelationChunkSizeRows": "10000",
    "spark.sql.session.localRelationChunkSizeBytes": str(2**24),
    "spark.sql.session.localRelationBatchOfChunksSizeBytes": str(2**28),
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
    ),
    "spark.sql.repl.eagerEval.enabled": "false",
    "spark.sql.repl.eagerEval.maxNumRows": "20",
    "spark.sql.repl.eagerEval.truncate": "20",
    "spark.sql.retainGroupColumns": "true",
    "spark.sql.parser.quotedRegexColumnNames": "false",
    "spark.sql.pyspark.udf.profiler": "",
    "spark.sql.pyspark.plotting.max_rows": "1000",
    "spark.connect.session.planCompression.threshold": "-1",
    "spark.connect.session.planCompression.defaultAlgorithm": "NONE",
    "spark.python.sql.dataFrameDebugging.enabled": "true",
}


def configure(session: PlannerSession, operation: Message) -> list[tuple[str, str | None]]:
    """Carry out one operation of a ConfigRequest; gives the pairs of the answer.

    Raises:
        DescriptionError: a setting that was asked for has no value.
    """
    kind = operation.WhichOneof("op_type")
    asked = getattr(operation, kind)
    match kind:
        case "set":
            given = Conf({pair.key: pair.value for pair in asked.pairs})
            # Only a session's builder asks so: it sets what an application starts with.
            check_settings(given, at_start=asked.silent)
            for pair in asked.pairs:
                session.settings[pair.key] = pair.value
            return []
        case "get":
            return [(key, _required(session, key)) for key in asked.keys]
        case "get_with_default":
            return [
                (p.key, _value(session, p.key, p.value if p.HasField("value") else None))
                for p in asked.pairs
            ]
        case "get_option":
            return [(key, _value(session, key, None)) for key in asked.keys]
        case "get_all":
            known = {**DEFAULTS, **session.settings}
            prefix = asked.prefix if asked.HasField("prefix") else ""
            return [
                (key.removeprefix(prefix), value)
                for key, value in sorted(known.items())
                if key.startswith(prefix)
            ]
        case "unset":
            for key in asked.keys:
                session.settings.pop(key, None)
            return []
        case _:
            return [
                (key, "true" if key.startswith("spark.sql.") else "false") for key in asked.keys
            ]


def _value(session: PlannerSession, key: str, default: str | None) -> str | None:
    for known in (session.settings, DEFAULTS, _CLIENT_DEFAULTS):
        if key in known:
            return known[key]
    return default


def _required(session: PlannerSession, key: str) -> str:
    value = _value(session, key, None)
    if value is None:
        raise DescriptionError.of(
            "SQL_CONF_NOT_FOUND",
            hint=f"Set it first, or give it with --conf {key}=VALUE.",
            sqlConf=in_quotes(key),
        )
    return value


def config_response(
    request: Message, pairs: list[tuple[str, str | None]], server_session: str
) -> Message:
    """The answer to a ConfigRequest."""
    response = proto.ConfigResponse(
        session_id=request.session_id, server_side_session_id=server_session
    )
    for key, value in pairs:
        pair = response.pairs.add(key=key)
        if value is not None:
            pair.value = value
    return response
