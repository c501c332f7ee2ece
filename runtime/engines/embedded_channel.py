"""PySpark's Connect client on one gRPC channel that all sessions of this process share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import grpc
from pyspark.errors.exceptions.connect import SparkConnectGrpcException
from pyspark.sql.connect.client import DefaultChannelBuilder
from pyspark.sql.connect.session import SparkSession as ConnectSession

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OPTIONS = [
    ("grpc.max_send_message_length", -1),
    ("grpc.max_receive_message_length", -1),
    # A connection of its own, which stays while a query waits for data.
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.client_idle_timeout_ms", 2**31 - 1),
    ("grpc.enable_http_proxy", 0),
]


class SharedChannel(grpc.Channel):  # type: ignore[misc]  # grpc has no types
    """A channel that outlives the sessions on it: each of them closes it, `end()` ends it."""

    def __init__(self, channel: grpc.Channel) -> None:
        self._channel = channel

    def subscribe(self, callback: Any, try_to_connect: bool = False) -> None:
        self._channel.subscribe(callback, try_to_connect)

    def unsubscribe(self, callback: Any) -> None:
        self._channel.unsubscribe(callback)

    def unary_unary(self, *args: Any, **kwargs: Any) -> Any:
        return self._channel.unary_unary(*args, **kwargs)

    def unary_stream(self, *args: Any, **kwargs: Any) -> Any:
        return self._channel.unary_stream(*args, **kwargs)

    def stream_unary(self, *args: Any, **kwargs: Any) -> Any:
        return self._channel.stream_unary(*args, **kwargs)

    def stream_stream(self, *args: Any, **kwargs: Any) -> Any:
        return self._channel.stream_stream(*args, **kwargs)

    def __deepcopy__(self, memo: Any) -> SharedChannel:
        """Itself: the session that PySpark clones another one to is on it, too."""
        return self

    def close(self) -> None:
        """Nothing: another session may use the channel."""

    def end(self) -> None:
        """Close the channel under all sessions."""
        self._channel.close()

    def wait(self, seconds: float) -> bool:
        """Whether it connects within so many seconds."""
        try:
            grpc.channel_ready_future(self._channel).result(seconds)
        except grpc.FutureTimeoutError:
            return False
        return True

    def __enter__(self) -> SharedChannel:
        return self

    def __exit__(self, *args: object) -> None:
        self.close()


class _Builder(DefaultChannelBuilder):
    def __init__(self, address: tuple[str, int], channel: SharedChannel) -> None:
        super().__init__(f"sc://{address[0]}:{address[1]}")
        self.channel = channel

    def toChannel(self) -> grpc.Channel:
        return self.channel


def connect(address: tuple[str, int]) -> SharedChannel:
    """A channel to the engine; it connects when it is first used or watched."""
    return SharedChannel(grpc.insecure_channel(f"{address[0]}:{address[1]}", options=OPTIONS))


def new_session(address: tuple[str, int], channel: SharedChannel) -> SparkSession:
    """A session of its own on the channel, which is neither PySpark's default nor active one."""
    return in_this_process(ConnectSession(connection=_Builder(address, channel)))


def default_session(address: tuple[str, int], channel: SharedChannel) -> SparkSession:
    """A session that PySpark's functions find without being given it."""
    return in_this_process(
        ConnectSession.builder.channelBuilder(_Builder(address, channel)).create()
    )


def is_gone(error: BaseException) -> bool:
    """Whether an error of the client's says that the engine does not answer any more."""
    return (
        isinstance(error, SparkConnectGrpcException)
        and error.getGrpcStatusCode() == grpc.StatusCode.UNAVAILABLE
    )


def in_this_process(session: ConnectSession) -> SparkSession:
    """The session without what the client does for networks.

    An engine of this process that is gone stays so: the client would try again for ten minutes.
    Nothing comes between the two: the client would ask anew for what it may have missed, and
    acknowledge each batch of rows in a call of its own, half the time of a small query.
    """
    session.client.set_retry_policies([])
    session.client.disable_reattachable_execute()
    return cast("SparkSession", session)
