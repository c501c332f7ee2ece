"""Keeps a loopback port of this process for this process alone. Linux; needs no privilege.

Sail listens on TCP and asks nobody who they are, so the kernel is asked to turn others away. A
classic socket filter (SO_ATTACH_FILTER, socket(7)) on the listening socket sees each packet that
comes in, and every connection starts with the filter that the listener has at that moment:

    _CONNECTING    packets without data pass: one can connect, and not a byte gets through
    _CLOSED        nothing passes: no connection comes about

The first is set while our own channel connects. A connection whose other end is a socket of this
process then loses its filter, any other one is ended, and the port is closed until our channel has
to connect again.
"""

from __future__ import annotations

import ctypes
import os
import socket
import stat
import struct
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import grpc

Address = tuple[str, int]

# asm-generic/socket.h; the first reads the filter too, as SO_GET_FILTER.
_ATTACH, _DETACH = 26, 27
# Instructions of classic BPF: code, jump if true, jump if false, operand (linux/filter.h).
_Program = tuple[tuple[int, int, int, int], ...]
_DROP = (0x06, 0, 0, 0)
_PASS = (0x06, 0, 0, 0xFFFFFFFF)
_CLOSED: _Program = (_DROP,)
_CONNECTING: _Program = (
    (0x30, 0, 0, 12),  # the TCP header's length in words, in the upper half of byte 12
    (0x54, 0, 0, 0xF0),
    (0x74, 0, 0, 2),  # in bytes
    (0x07, 0, 0, 0),
    (0x80, 0, 0, 0),  # the packet's length, from the TCP header on
    (0x1D, 0, 1, 0),
    _PASS,
    _DROP,
)
# States of /proc/net/tcp that hold no connection: TIME_WAIT, CLOSE, LISTEN.
_NO_CONNECTION = ("06", "07", "0A")


class PortFilterError(Exception):
    """The kernel has no socket filters, or does not let this process use them."""


class OtherProcessConnected(Exception):
    """Another process connected before the filter was set."""


class PrivatePort:
    """A port on which this process listens, and that it alone may connect to.

    Args:
        address: the IPv4 address and port.

    Raises:
        PortFilterError: there are no socket filters here.
        OtherProcessConnected: one did before. Stop the server: it may have been asked something.
    """

    def __init__(self, address: Address) -> None:
        self._address = address
        self._connected = threading.Event()
        if not self._set(_CONNECTING):
            raise PortFilterError(f"no socket of this process listens on {address}")
        if _connected(address):
            raise OtherProcessConnected

    def watch(self, channel: grpc.Channel) -> None:
        """Let a channel of this process connect whenever it has to, and nobody else at any time."""
        import grpc

        def changed(state: grpc.ChannelConnectivity) -> None:
            with suppress(PortFilterError):  # the server has ended, and its sockets with it
                if state is grpc.ChannelConnectivity.READY:
                    self._separate()
                    return
                self._connected.clear()
                if state is grpc.ChannelConnectivity.CONNECTING:
                    self._set(_CONNECTING)  # it tries again after a second if this comes too late

        channel.subscribe(changed, try_to_connect=True)

    def wait(self, seconds: float) -> bool:
        """Whether our channel is connected, at the latest in so many seconds."""
        return self._connected.wait(seconds)

    def _set(self, program: _Program) -> bool:
        """Put a filter on the listening socket; whether there is one."""
        for each in _sockets():
            with each:
                if _name(each) == self._address and _listens(each):
                    _attach(each, program)
                    return True
        return False

    def _separate(self) -> None:
        """Close the port, free our own connections of their filter, and end all others."""
        self._set(_CLOSED)
        own: set[Address] = set()
        served: list[tuple[socket.socket, Address]] = []
        try:
            for each in _sockets():
                name, peer = _name(each), _peer(each)
                if name == self._address and peer is not None:
                    served.append((each, peer))
                    continue
                if peer == self._address and name is not None:
                    own.add(name)
                each.close()
            for each, peer in served:
                if peer in own:
                    with suppress(OSError):  # it has none any more
                        each.setsockopt(socket.SOL_SOCKET, _DETACH, 0)
                else:
                    with suppress(OSError):
                        each.shutdown(socket.SHUT_RDWR)
        finally:
            for each, _ in served:
                each.close()
        self._connected.set()


def _sockets() -> Iterator[socket.socket]:
    """The TCP sockets of this process, as duplicates to be closed by who takes them."""
    for number in os.listdir("/proc/self/fd"):
        try:
            if not stat.S_ISSOCK(os.fstat(int(number)).st_mode):
                continue
            duplicate = os.dup(int(number))
        except OSError:  # closed meanwhile
            continue
        try:
            found = socket.socket(fileno=duplicate)
        except OSError:
            os.close(duplicate)
            continue
        inet = found.family in (socket.AF_INET, socket.AF_INET6)
        if inet and found.type == socket.SOCK_STREAM:
            yield found
        else:
            found.close()


def _plain(address: tuple[str | int, ...]) -> Address:
    """An IPv4 address, also of an IPv6 socket that is connected over IPv4."""
    return str(address[0]).removeprefix("::ffff:"), int(address[1])


def _name(one: socket.socket) -> Address | None:
    try:
        return _plain(one.getsockname())
    except OSError:
        return None


def _peer(one: socket.socket) -> Address | None:
    try:
        return _plain(one.getpeername())
    except OSError:  # not connected
        return None


def _listens(one: socket.socket) -> bool:
    return bool(one.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))


def _attach(one: socket.socket, program: _Program) -> None:
    """Put a filter on a socket in place of the one that it has.

    Raises:
        PortFilterError: the kernel refuses, or takes it and then does not have it.
    """
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in program))
    try:
        argument = struct.pack("HP", len(program), ctypes.addressof(code))
        one.setsockopt(socket.SOL_SOCKET, _ATTACH, argument)
        # Some kernels of sandboxes accept what they do not know. The length counts instructions.
        held = one.getsockopt(socket.SOL_SOCKET, _ATTACH, len(code))
    except OSError as error:
        raise PortFilterError(str(error)) from error
    if not held:
        raise PortFilterError("socket filters have no effect here")


def _connected(address: Address) -> bool:
    """Whether anybody is connected to a port, or waits to be accepted."""
    number = int.from_bytes(socket.inet_aton(address[0]), sys.byteorder)
    local = f"{number:08X}:{address[1]:04X}"
    lines = (line.split() for line in Path("/proc/self/net/tcp").read_text().splitlines()[1:])
    return any(line[1] == local and line[3] not in _NO_CONNECTION for line in lines)
