"""A client of the control port that keeps its connection open, and one that sends raw bytes."""

import http.client
import json
import socket
from collections.abc import Mapping
from typing import Any, Self

JSON = {"content-type": "application/json"}


class Control:
    """Sends requests to the control port over one connection, with a token if one is given."""

    def __init__(self, url: str, token: str | None = None) -> None:
        self.headers = {} if token is None else {"authorization": f"Bearer {token}"}
        self.connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=10)

    def __call__(
        self, method: str, path: str, content: Any = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, Any]:
        """Send a request and return the status and the content of the response: values of JSON, or text.

        A body has the content type JSON unless `headers` are given.
        """
        body = None if content is None else json.dumps(content)
        found = JSON if headers is None and body is not None else (headers or {})
        self.connection.request(method, path, body, {**self.headers, **found})
        response = self.connection.getresponse()
        said = response.read()
        return response.status, json.loads(said) if "json" in response.headers["content-type"] else said.decode()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()


def ask(url: str, method: str, path: str, content: Any = None) -> tuple[int, Any]:
    """Send one request over a connection of its own."""
    with Control(url) as control:
        return control(method, path, content)


def exchange(url: str, data: bytes, chunk: int = 1 << 20) -> bytes:
    """Send bytes in chunks and return all bytes that the control port sends before it closes the connection."""
    host, _, port = url.removeprefix("http://").rpartition(":")
    with socket.create_connection((host, int(port)), 5) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for at in range(0, len(data), chunk):
            connection.sendall(data[at : at + chunk])
        found = b""
        while piece := connection.recv(65536):
            found += piece
    return found
