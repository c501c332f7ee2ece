"""Errors on the wire: as Spark's server sends them, so that the client raises its own classes."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

import grpc
from google.protobuf import any_pb2
from google.rpc import error_details_pb2, status_pb2
from grpc_status import rpc_status
from pyspark.sql.connect import proto

from ..model.conditions import conditions
from ..model.errors import StateplanError
from .places import Message

_ANALYSIS = "org.apache.spark.sql.AnalysisException"
_PARSE = "org.apache.spark.sql.catalyst.parser.ParseException"
_ARGUMENT = "java.lang.IllegalArgumentException"
_UNSUPPORTED = "java.lang.UnsupportedOperationException"
_ARITHMETIC = "java.lang.ArithmeticException"
_INDEX = "java.lang.ArrayIndexOutOfBoundsException"
_DATE_TIME = "java.time.DateTimeException"
_NUMBER_FORMAT = "java.lang.NumberFormatException"
_RUNTIME = "org.apache.spark.SparkRuntimeException"
_OF_CONDITIONS = {
    "ARITHMETIC_OVERFLOW": _ARITHMETIC,
    "CANNOT_PARSE_TIMESTAMP": _DATE_TIME,
    "CAST_OVERFLOW": _ARITHMETIC,
    "DATETIME_OVERFLOW": _ARITHMETIC,
    "DIVIDE_BY_ZERO": _ARITHMETIC,
    "INTERVAL_ARITHMETIC_OVERFLOW": _ARITHMETIC,
    "INVALID_ARRAY_INDEX": _INDEX,
    "INVALID_ARRAY_INDEX_IN_ELEMENT_AT": _INDEX,
    "NUMERIC_VALUE_OUT_OF_RANGE": _ARITHMETIC,
    "PYTHON_EXCEPTION": "org.apache.spark.api.python.PythonException",
    "REMAINDER_BY_ZERO": _ARITHMETIC,
    "SCALAR_SUBQUERY_TOO_MANY_ROWS": _RUNTIME,
    "STATEPLAN_BAD_TRIGGER": _ARGUMENT,
    "USER_RAISED_EXCEPTION": _RUNTIME,
    "_LEGACY_ERROR_TEMP_2047": _ARGUMENT,
    "_LEGACY_ERROR_TEMP_2048": _ARGUMENT,
    "PARSE_SYNTAX_ERROR": _PARSE,
    "SQL_CONF_NOT_FOUND": "org.apache.spark.SparkNoSuchElementException",
    "STREAM_FAILED": "org.apache.spark.sql.streaming.StreamingQueryException",
    "STREAMING_PYTHON_RUNNER_INITIALIZATION_FAILURE": (
        "org.apache.spark.api.python.StreamingPythonRunner"
        "$StreamingPythonRunnerInitializationException"
    ),
}
_KEPT = 100
# Metadata of gRPC is limited; the client fetches the whole message by the error's id.
_SHORT = 1000


@dataclass
class ErrorBook:
    """The latest errors by id, for clients that ask for the details."""

    errors: dict[str, StateplanError] = field(default_factory=dict)

    def status(self, error: StateplanError) -> Any:
        """The gRPC status for an error."""
        number = f"{id(error):x}"
        self.errors[number] = error
        while len(self.errors) > _KEPT:
            del self.errors[next(iter(self.errors))]
        kind = class_of(error)
        info = error_details_pb2.ErrorInfo(reason=kind, domain="stateplan")
        info.metadata["classes"] = json.dumps([kind])
        info.metadata["errorId"] = number
        if error.condition:
            info.metadata["errorClass"] = error.condition
            info.metadata["sqlState"] = _sql_state(error.condition)
        details = any_pb2.Any()
        details.Pack(info)
        message = error.message[:_SHORT]
        return rpc_status.to_status(
            status_pb2.Status(
                code=grpc.StatusCode.INTERNAL.value[0], message=message, details=[details]
            )
        )

    def details(self, request: Message) -> Message:
        """The answer to FetchErrorDetails: the whole message; hint and place as parameters, too."""
        answer = proto.FetchErrorDetailsResponse(session_id=request.session_id)
        error = self.errors.get(request.error_id)
        if error is None:
            return answer
        sent = answer.errors.add(message=error.message)
        sent.error_type_hierarchy.append(class_of(error))
        if error.condition:
            sent.spark_throwable.error_class = error.condition
            sent.spark_throwable.sql_state = _sql_state(error.condition)
        sent.spark_throwable.message_parameters.update(error.parameters)
        sent.spark_throwable.message_parameters["hint"] = error.hint
        if error.subject:
            sent.spark_throwable.message_parameters["subject"] = ".".join(error.subject)
        if error.place:
            sent.spark_throwable.message_parameters["place"] = error.place
        answer.root_error_idx = 0
        return answer


def _sql_state(condition: str) -> str:
    known = conditions().get(condition)
    return "" if known is None else known.sql_state


def class_of(error: StateplanError) -> str:
    """The JVM class that Spark throws for such an error, by which the client chooses its own."""
    condition = (error.condition or "").split(".")[0]
    if condition in _OF_CONDITIONS:
        return _OF_CONDITIONS[condition]
    if condition == "CAST_INVALID_INPUT":
        return _of_malformed(error.message)
    if (error.condition or "").startswith("STATEPLAN_"):
        return _UNSUPPORTED
    if error.message.startswith(("requirement failed", "Cannot start query with name")):
        return _ARGUMENT
    return _ANALYSIS


def _of_malformed(message: str) -> str:
    """The class for a text that is not of the type that it is cast to."""
    kind = re.search(r'cannot be cast to "(\w+)', message)
    if kind is None or kind[1] == "BOOLEAN":
        return _RUNTIME
    return _DATE_TIME if kind[1].startswith(("DATE", "TIME")) else _NUMBER_FORMAT
