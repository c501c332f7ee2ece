"""Errors of the engine behind the endpoint: what an embedded one lacks, Spark may have."""

from __future__ import annotations

import re

import grpc
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from ...planner.model.errors import AnalysisError
from ...planner.model.text.quoting import in_quotes
from ..engines.embedded_errors import spark_error

# What the embedded engine raises where it lacks something, and where a query is wrong, too.
_LACKS = (
    "java.lang.IllegalArgumentException",
    "java.lang.UnsupportedOperationException",
    "org.apache.spark.SparkRuntimeException",
)
_NO_SOURCE = re.compile(r"No data source found for: (\S+)")
_NO_SETTING = re.compile(r"configuration not found: (\S+)")
_STATE_SOURCES = ("statestore", "state-metadata")
_STATE = " (`stateplan state DIRECTORY` shows the state of a checkpoint)"
_WAY_OUT = (
    " (said by the embedded engine, which does not take all that Spark does; where Spark takes it, "
    "use --engine spark)"
)


def setting_not_found(error: grpc.RpcError) -> AnalysisError | None:
    """Spark's error for a setting that there is not, if the engine says so."""
    found = _NO_SETTING.search(str(error))
    if found is None:
        return None
    return AnalysisError.of("SQL_CONF_NOT_FOUND", sqlConf=in_quotes(found[1]))


def with_way_out(error: grpc.Call) -> grpc.Status | None:
    """An error of the embedded engine's own with where else it would work.

    Args:
        error: what a call to the engine raised.

    Returns:
        None where it is in Spark's words or of a kind that Spark raises, too.
    """
    status = rpc_status.from_call(error)
    info = error_details_pb2.ErrorInfo()
    if status is None or not any(detail.Unpack(info) for detail in status.details):
        return None
    source = _NO_SOURCE.search(status.message)
    if source is None and (info.reason not in _LACKS or spark_error(status.message) is not None):
        return None
    status.message += _STATE if source and source[1] in _STATE_SOURCES else _WAY_OUT
    return rpc_status.to_status(status)
