"""Holds over HTTP: requests for the hold of an emulator, its holder, and those who wait."""

import ctypes
import http.client
import json
import socket
import struct
import time

from rocketmq_testkit.fixtures import Emulator

WAIT_S = 30
"""The longest wait (s) for a holder."""
SO_ATTACH_FILTER = 26
DROP_ALL = struct.pack("HBBI", 0x06, 0, 0, 0)
"""A socket filter of Linux that keeps no byte of any packet."""


def opened(emulator: Emulator, **body: str) -> http.client.HTTPResponse:
    """Send a request for the hold, and return its response."""
    connection = http.client.HTTPConnection(emulator.control.removeprefix("http://"), timeout=10)
    connection.request("POST", "/v1/hold", json.dumps(body), {"content-type": "application/json"})
    return connection.getresponse()


def sent(emulator: Emulator, *, version: str = "1.1", **body: str) -> socket.socket:
    """Send a request for the hold, and return its connection at once."""
    host, _, port = emulator.control.removeprefix("http://").rpartition(":")
    content = json.dumps(body)
    head = f"POST /v1/hold HTTP/{version}\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    connection = socket.create_connection((host, int(port)), 10)
    connection.sendall(f"{head}content-length: {len(content)}\r\n\r\n{content}".encode())
    return connection


def state(emulator: Emulator) -> tuple[str | None, list[str]]:
    """Return the holder, and those who wait."""
    return emulator.run_on_loop(lambda host: (host.holds.holder, host.holds.waiting))


def until(emulator: Emulator, holder: str | None, *waiting: str) -> None:
    """Wait until the emulator has this holder, and these requests wait."""
    wanted, deadline = (holder, [*waiting]), time.monotonic() + WAIT_S
    while state(emulator) != wanted and time.monotonic() < deadline:
        pass
    assert state(emulator) == wanted


def vanish(connection: socket.socket) -> None:
    """Let the host of a connection's end vanish: it drops each packet, and acknowledges none. Linux only."""
    program = ctypes.create_string_buffer(DROP_ALL)
    filters = struct.pack("HL", 1, ctypes.addressof(program))
    connection.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, filters)
