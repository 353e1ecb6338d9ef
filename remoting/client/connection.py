"""A client's connection: send requests, receive responses and server-initiated requests."""

import socket
from collections import deque
from collections.abc import Iterable, Mapping
from ssl import SSLContext
from time import monotonic

from ..wire import frame
from ..wire.command import ONEWAY, RESPONSE, VERSION_5_3_3, RemotingCommand
from ..wire.ext_fields import Header
from .closeable import Closeable
from .signing import Credentials, sign


class ConnectionLost(ConnectionError):
    """The peer closed the connection."""


class RemotingTimeout(TimeoutError):
    """No response arrived before the timeout."""


class RemotingClient(Closeable):
    """A blocking connection to a broker or a name server.

    `address` is `"host:port"` or the pair. `timeout` (s) applies to connecting, and is the default for responses. With
    `tls` the connection is encrypted; `server_hostname` is the name that the certificate must have (default: the host).
    With `credentials` every request is signed. With `binary` headers are sent in the ROCKETMQ form. Each header has
    `language` and `version` (an ordinal of MQVersion). Several requests may be in flight (`submit`, then `collect`);
    responses may arrive in any order.
    """

    def __init__(
        self,
        address: str | tuple[str, int],
        *,
        timeout: float = 5.0,
        tls: SSLContext | None = None,
        server_hostname: str | None = None,
        credentials: Credentials | None = None,
        language: str = "PYTHON",
        version: int = VERSION_5_3_3,
        binary: bool = False,
    ) -> None:
        host, port = _host_port(address)
        self.timeout = timeout
        self.credentials = credentials
        self.language = language
        self.version = version
        self.serialize_type = frame.ROCKETMQ if binary else frame.JSON
        self.server_requests: deque[RemotingCommand] = deque()
        """Requests received from the server, oldest first."""
        self._responses: dict[int, RemotingCommand] = {}
        self._splitter = frame.FrameSplitter()
        self._opaque = 0
        plain = socket.create_connection((host, port), timeout)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = plain if tls is None else tls.wrap_socket(plain, server_hostname=server_hostname or host)

    def request(
        self,
        code: int,
        ext: Header | Mapping[str, object] | None = None,
        body: bytes = b"",
        *,
        timeout: float | None = None,
    ) -> RemotingCommand:
        """Send a request and wait up to `timeout` (s) for the response. Raises RemotingTimeout, ConnectionLost."""
        return self.collect(self.submit(code, ext, body), timeout)

    def submit(self, code: int, ext: Header | Mapping[str, object] | None = None, body: bytes = b"") -> int:
        """Send a request without waiting. The returned opaque is for `collect`."""
        return self._send(code, 0, ext, body)

    def submit_many(
        self, code: int, requests: Iterable[tuple[Header | Mapping[str, object] | None, bytes]]
    ) -> list[int]:
        """Send several requests with one code in one write. Returns their opaques for `collect`, in the same order."""
        made = [self._encode(code, 0, ext, body) for ext, body in requests]
        self._socket.sendall(b"".join([data for _, data in made]))
        return [opaque for opaque, _ in made]

    def oneway(self, code: int, ext: Header | Mapping[str, object] | None = None, body: bytes = b"") -> None:
        """Send a oneway request."""
        self._send(code, ONEWAY, ext, body)

    def collect(self, opaque: int, timeout: float | None = None) -> RemotingCommand:
        """Wait up to `timeout` (s) for the response to a submitted request. Raises RemotingTimeout, ConnectionLost."""
        deadline = monotonic() + (self.timeout if timeout is None else timeout)
        while opaque not in self._responses:
            self._read(deadline)
        return self._responses.pop(opaque)

    def next_server_request(self, timeout: float | None = None) -> RemotingCommand:
        """Wait up to `timeout` (s) for the oldest request of the server. Raises RemotingTimeout, ConnectionLost."""
        deadline = monotonic() + (self.timeout if timeout is None else timeout)
        while not self.server_requests:
            self._read(deadline)
        return self.server_requests.popleft()

    def respond(self, request: RemotingCommand, code: int = 0, body: bytes = b"", remark: str | None = None) -> None:
        """Send a response to a request of the server."""
        self._socket.sendall(
            frame.encode(
                RemotingCommand(
                    code,
                    self.language,
                    self.version,
                    request.opaque,
                    RESPONSE,
                    remark,
                    None,
                    body,
                )
            )
        )

    def send_bytes(self, data: bytes) -> None:
        """Send raw bytes, to test how a server handles them."""
        self._socket.sendall(data)

    @property
    def local_address(self) -> tuple[str, int]:
        """The local (address, port) of the connection."""
        host, port = self._socket.getsockname()[:2]
        return host, port

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def _send(self, code: int, flag: int, ext: Header | Mapping[str, object] | None, body: bytes) -> int:
        opaque, data = self._encode(code, flag, ext, body)
        self._socket.sendall(data)
        return opaque

    def _encode(
        self, code: int, flag: int, ext: Header | Mapping[str, object] | None, body: bytes
    ) -> tuple[int, bytes]:
        fields = ext_texts(ext)
        if self.credentials is not None:
            fields = sign(self.credentials, fields or {}, body)
        self._opaque += 1
        command = RemotingCommand(
            code,
            self.language,
            self.version,
            self._opaque,
            flag,
            None,
            fields,
            body,
            self.serialize_type,
        )
        return self._opaque, frame.encode(command)

    def _read(self, deadline: float) -> None:
        left = deadline - monotonic()
        if left <= 0:
            raise RemotingTimeout("no response in time")
        self._socket.settimeout(left)
        try:
            data = self._socket.recv(262144)
        except TimeoutError:
            raise RemotingTimeout("no response in time") from None
        except ConnectionError as lost:
            raise ConnectionLost(str(lost)) from lost
        finally:
            self._socket.settimeout(self.timeout)
        if not data:
            raise ConnectionLost("the other end closed the connection")
        for serialize_type, header, body in self._splitter.feed(data):
            command = frame.decode(serialize_type, header, body)
            if command.is_response:
                self._responses[command.opaque] = command
            else:
                self.server_requests.append(command)


def _host_port(address: str | tuple[str, int]) -> tuple[str, int]:
    if not isinstance(address, str):
        return address
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)


def ext_texts(ext: Header | Mapping[str, object] | None) -> dict[str, str] | None:
    """Return ext fields as texts, without those that are None."""
    if ext is None:
        return None
    if isinstance(ext, Header):
        return ext.ext_fields()
    return {
        name: ("true" if value else "false") if isinstance(value, bool) else str(value)
        for name, value in ext.items()
        if value is not None
    }
