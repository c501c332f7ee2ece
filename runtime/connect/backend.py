"""The engine behind the endpoint: its Spark Connect server, and sessions on it."""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakValueDictionary

import grpc
from pyspark.sql.connect.client import DefaultChannelBuilder
from pyspark.sql.connect.session import SparkSession as ConnectSession

from ...planner.model.settings.conf import Conf
from ...planner.model.settings.conf_checks import check_settings
from ..engines import embedded_session
from ..engines.choice import Choice, Installed, choose_engine
from ..engines.embedded_channel import OPTIONS, SharedChannel, in_this_process
from ..engines.settings import is_remote

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from ..query import StreamingQuery

_PLUGIN = "org.apache.spark.sql.connect.SparkConnectPlugin"
_QUIET = {"spark.sql.connect.serverStacktrace.enabled": "false"}
"""A classic application's errors show no stack of the JVM either."""


class _Builder(DefaultChannelBuilder):
    """Takes the endpoint's channel for a client's session; `channel` is how an engine knows it."""

    def __init__(self, channel: SharedChannel, user: str, session_id: str) -> None:
        super().__init__(f"sc://localhost/;session_id={session_id}")
        self.channel = channel
        self._user = user

    def toChannel(self) -> grpc.Channel:
        return self.channel

    @property
    def userId(self) -> str | None:
        return self._user


class Backend:
    """A Spark Connect server, and one channel to it that all sessions share.

    Attributes:
        channel: the channel.
        embedded: whether it is the embedded engine of this process.
        rows: batches of foreachBatch functions that run, as relations by the ids that the
            functions name them by, where the engine itself cannot keep rows.
        queries: those that clients started, by the checkpoint.
        settings: those that clients' sessions start with, where the engine was not started with
            them.
        script: the socket of the file that is run, if it is for one file's sake.
    """

    def __init__(
        self, channel: SharedChannel, *, embedded: bool, settings: Mapping[str, str]
    ) -> None:
        self.channel = channel
        self.embedded = embedded
        self.rows: dict[str, Any] = {}
        self.queries: WeakValueDictionary[str, StreamingQuery] = WeakValueDictionary()
        self.settings = settings
        self.script: Path | None = None
        # PySpark's functions read types with the process's default session.
        builder: Any = _Builder(channel, "stateplan", str(uuid.uuid4()))
        self._default: Any = ConnectSession.builder.channelBuilder(builder).create()

    def session(self, user: str, session_id: str) -> SparkSession:
        """A client's own session, as its requests see it."""
        made: Any = ConnectSession(connection=_Builder(self.channel, user, session_id))
        if self.embedded:
            in_this_process(made)
        _ = made.version  # the server knows a session from its first request on
        return cast("SparkSession", made)


def open_backend(
    wanted: str,
    master: str | None,
    settings: dict[str, str] | None = None,
    *,
    isolated: bool = True,
) -> tuple[Backend, Choice]:
    """Start the engine that is asked for, with its Spark Connect server on the loopback.

    Args:
        wanted: `auto`, `embedded` or `spark`.
        master: Spark's master URL; `sc://` names a Spark Connect server that runs already.
        settings: Spark's settings to start with.
        isolated: whether each session's functions have a directory and modules of their own, where
            Spark is started; otherwise they run where Spark does.

    Raises:
        SettingError: a setting has a value that Spark does not take.
        RuntimeFailure: there is no such engine, or it cannot be started here.
    """
    choice = choose_engine(wanted, "run", master=master, installed=Installed.here())
    settings = {**_QUIET, **(settings or {})}
    check_settings(Conf(settings), at_start=True)
    # PySpark's functions make columns of Connect in this process from here on.
    if choice.engine == "embedded":
        os.environ["SPARK_CONNECT_MODE_ENABLED"] = "1"
        channel = embedded_session.shared_channel()
    elif is_remote(master):
        os.environ["SPARK_CONNECT_MODE_ENABLED"] = "1"
        channel = SharedChannel(DefaultChannelBuilder(master).toChannel())
    else:
        channel = _start_spark(master, settings, isolated=isolated)
        os.environ["SPARK_CONNECT_MODE_ENABLED"] = "1"
        settings = {}
    return Backend(channel, embedded=choice.engine == "embedded", settings=settings), choice


def _start_spark(master: str | None, settings: dict[str, str], *, isolated: bool) -> SharedChannel:
    """Start Spark with its Connect server, which lets in nobody without a token of this process."""
    from ..engines.spark_session import start_session

    token = str(uuid.uuid4())
    spark: Any = start_session(
        master,
        settings={
            **settings,
            "spark.plugins": _PLUGIN,
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.connect.grpc.binding.port": "0",
            "spark.connect.authenticate.token": token,
            "spark.sql.artifact.isolation.enabled": str(isolated).lower(),
            "spark.sql.artifact.isolation.alwaysApplyClassloader": str(isolated).lower(),
        },
    )
    service = getattr(spark._jvm, "org.apache.spark.sql.connect.service.SparkConnectService$")
    port = getattr(service, "MODULE$").localPort()
    credentials = grpc.composite_channel_credentials(
        grpc.local_channel_credentials(), grpc.access_token_call_credentials(token)
    )
    return SharedChannel(grpc.secure_channel(f"127.0.0.1:{port}", credentials, options=OPTIONS))
