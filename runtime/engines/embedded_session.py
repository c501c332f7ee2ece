"""Sail in this process: started once, reached by PySpark Connect, stopped with the process.

Its port runs Python functions for whoever connects. It is on the loopback, and on Linux no other
process can connect (`private_port.py`): sessions share one channel. Elsewhere a warning says that
other users of the machine could.
"""

from __future__ import annotations

import atexit
import ctypes
import importlib.util
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, cast

from ...planner.model.errors import RuntimeFailure
from ..kernels.worker_memory import keep_freed_memory
from .choice import Installed, missing_for_embedded
from .private_port import OtherProcessConnected, PortFilterError, PrivatePort

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from .embedded_channel import SharedChannel

_HOST = "127.0.0.1"
_SECONDS_TO_START = 20.0
_ATTEMPTS = 5
# Sail reads these once, when it starts. The user's own win, but for the mode: kernels share their
# memory with the engine, so there is one process.
_DEFAULTS = {
    "RUST_LOG": "off",
    # A query may wait for data longer than the quarter of an hour after which Sail forgets it.
    "SAIL_SPARK__SESSION_TIMEOUT_SECS": str(10 * 365 * 24 * 3600),
    # Each batch that reaches our own operators costs calls of Python.
    "SAIL_EXECUTION__BATCH_SIZE": "32768",
}
_ALWAYS = {"SAIL_MODE": "local"}
# A forked process may not use the engine: what gRPC would do for it at a fork only logs and waits.
_NO_FORKS = {"GRPC_ENABLE_FORK_SUPPORT": "0"}
ctypes.pythonapi.PyOS_getsig.restype = ctypes.c_void_p
ctypes.pythonapi.PyOS_setsig.argtypes = [ctypes.c_int, ctypes.c_void_p]


class OpenPortWarning(UserWarning):
    """Other users of the machine could use the embedded engine's port."""


class _Sail:
    """The engine of this process.

    Attributes:
        process: the process that started it.
        address: where it listens.
        private_port: what keeps other processes from there, if anything can.
        channel: the channel that all sessions share.
        user_session: the user's session, once there is one.
    """

    def __init__(self) -> None:
        # In a process without a main file (python -c) the client looks for its tests' Spark, and
        # ends the process if there is none.
        with _environment(_absent({"SPARK_HOME": os.curdir, **_NO_FORKS})):
            from .embedded_channel import connect

        self.process = os.getpid()
        self.user_session: Any = None  # PySpark 4.3 types no `is_stopped`
        keep_freed_memory()
        with _ctrl_c_is_pythons():
            self._server, self.private_port = _start_on_private_port()
            self.address: tuple[str, int] = self._server.listening_address
            with _environment(_absent(_NO_FORKS)):
                self.channel = connect(self.address)
            if self.private_port is not None:
                self.private_port.watch(self.channel)
                started = self.private_port.wait(_SECONDS_TO_START)
            else:
                started = self.channel.wait(_SECONDS_TO_START)
        if not started:
            self.stop()
            raise _not_started(f"it did not answer within {_SECONDS_TO_START:.0f} seconds")
        if self.private_port is None and (others := other_users()):
            _warn(self.address, others)

    def new_session(self) -> SparkSession:
        from .embedded_channel import new_session

        return new_session(self.address, self.channel)

    def default_session(self) -> SparkSession:
        """The user's session: PySpark's default one, as that of a SparkSession.builder is."""
        from .embedded_channel import default_session

        if self.user_session is None or self.user_session.is_stopped:
            self.user_session = default_session(self.address, self.channel)
        return cast("SparkSession", self.user_session)

    def owns(self, spark: Any) -> bool:
        client = getattr(spark, "client", None)
        return getattr(getattr(client, "_builder", None), "channel", None) is self.channel

    def stop(self) -> None:
        if self.user_session is not None:
            self.user_session.stop()
        self.channel.end()
        with suppress(RuntimeError):  # stopped
            self._server.stop()


@contextmanager
def _ctrl_c_is_pythons() -> Iterator[None]:
    """Sail ends at Ctrl-C, under a query that is about to stop in good order: it must not.

    It handles the signal while this lasts; one that comes meanwhile waits for Python's handler.
    """
    handler = ctypes.pythonapi.PyOS_getsig(signal.SIGINT)
    waits = getattr(signal, "pthread_sigmask", None)  # Windows has none
    before = waits(signal.SIG_BLOCK, {signal.SIGINT}) if waits else None
    try:
        yield
    finally:
        ctypes.pythonapi.PyOS_setsig(signal.SIGINT, handler)
        if waits:
            waits(signal.SIG_SETMASK, before)


def _warn(address: tuple[str, int], others: list[str]) -> None:
    warnings.warn(
        f"The embedded engine's port {address[0]}:{address[1]} cannot be kept from other users of "
        f"this machine ({', '.join(others[:3])}): they could run code as you while the engine "
        "runs. Use --engine spark here, or a machine or container of your own.",
        OpenPortWarning,
        stacklevel=2,
    )


_lock = threading.RLock()
_running: _Sail | None = None


def session() -> SparkSession:
    """The user's session on the embedded engine, which starts if it does not run yet.

    Raises:
        RuntimeFailure: it is not installed, PySpark is another version, or it does not start.
    """
    with _lock:
        return _sail().default_session()


def new_session() -> SparkSession:
    """A session with settings and views of its own, for a query; `stop()` ends it alone.

    Raises:
        RuntimeFailure: as `session()`.
    """
    with _lock:
        return _sail().new_session()


def shared_channel() -> SharedChannel:
    """The only channel that the engine lets in; the engine starts if it does not run yet.

    Raises:
        RuntimeFailure: as `session()`.
    """
    with _lock:
        return _sail().channel


def is_embedded(spark: Any) -> bool:
    """Whether a session is one of the embedded engine of this process."""
    with _lock:
        return _running is not None and _running.owns(spark)


def stop() -> None:
    """Stop the engine and its sessions; a later session starts it again."""
    global _running
    with _lock:
        stopped, _running = _running, None
    if stopped is not None and stopped.process == os.getpid():
        stopped.stop()


def _sail() -> _Sail:
    global _running
    if _running is None:
        check_installed(Installed.here())
        _running = _Sail()
        atexit.register(stop)
    elif _running.process != os.getpid():
        raise RuntimeFailure(
            "STATEPLAN_EMBEDDED_FORKED",
            "The embedded engine was started before this process was forked, and does not run in "
            "a fork.",
            hint="Start the process with the method 'spawn', or the engine in the process alone.",
        )
    return _running


def check_installed(installed: Installed) -> None:
    """Check that the embedded engine can start here, before anything heavy is imported.

    Raises:
        RuntimeFailure: pysail is missing, or PySpark is another version than Sail knows.
    """
    missing = missing_for_embedded(installed)
    if missing is not None:
        raise missing


def _not_started(why: str) -> RuntimeFailure:
    return RuntimeFailure(
        "STATEPLAN_EMBEDDED_NOT_STARTED",
        f"The embedded engine cannot be started: {why.rstrip('.')}.",
        hint="Check the environment variables whose names start with SAIL_, or use --engine spark.",
    )


def _start_on_private_port() -> tuple[Any, PrivatePort | None]:
    """A started server, and what keeps its port private, if anything can."""
    for _ in range(_ATTEMPTS):
        server = _start()
        try:
            return server, PrivatePort(server.listening_address)
        except OtherProcessConnected:
            server.stop()
        except (PortFilterError, OSError):
            return server, None
    raise _not_started("another process connects to each port as soon as it is open")


def _start() -> Any:
    with _environment({**_absent(_DEFAULTS), **_ALWAYS}):
        try:
            from pysail.spark import SparkConnectServer

            server = SparkConnectServer(_HOST, 0)
            server.start(background=True)
        except Exception as error:
            raise _not_started(str(error).split("\n")[0]) from error
    return server


def _absent(wanted: Mapping[str, str]) -> dict[str, str]:
    """The variables that the user has not set."""
    return {name: value for name, value in wanted.items() if name not in os.environ}


@contextmanager
def _environment(wanted: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def other_users() -> list[str]:
    """Who else can log in here, besides root: accounts of people, with a shell, by name."""
    if importlib.util.find_spec("pwd") is None:
        return []
    import pwd

    first = 500 if sys.platform == "darwin" else 1000
    no_shell = ("nologin", "false", "sync")
    return [
        account.pw_name
        for account in pwd.getpwall()
        if first <= account.pw_uid < 65534
        and account.pw_uid != os.getuid()
        and not account.pw_shell.endswith(no_shell)
    ]
