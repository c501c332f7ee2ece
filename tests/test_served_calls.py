"""Calls of Connect clients over a real channel: how their errors end."""

from __future__ import annotations

import logging
from typing import Any

import grpc
import pytest
from pyspark.sql.connect.proto import base_pb2, base_pb2_grpc

from stateplan.planner.connect.server import Access, serving


@pytest.mark.parametrize(
    ("error", "code", "logged"),
    [
        (grpc.FutureCancelledError(), grpc.StatusCode.CANCELLED, []),
        (ValueError("ours"), grpc.StatusCode.INTERNAL, ["A call failed"]),
    ],
    ids=["the client has gone", "a mistake"],
)
def test_a_mistake_is_logged_and_a_client_that_has_gone_is_not(
    error: Exception,
    code: grpc.StatusCode,
    logged: list[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Service(base_pb2_grpc.SparkConnectServiceServicer):
        def Config(self, request: Any, context: Any) -> Any:
            raise error

    with (
        caplog.at_level(logging.ERROR),
        serving(Service(), Access()) as (_, port),
        grpc.insecure_channel(f"127.0.0.1:{port}") as channel,
    ):
        stub: Any = base_pb2_grpc.SparkConnectServiceStub(channel)
        with pytest.raises(grpc.RpcError) as raised:
            stub.Config(base_pb2.ConfigRequest(session_id="s"))
    failure: Any = raised.value
    assert failure.code() == code
    assert [record.message for record in caplog.records] == logged
