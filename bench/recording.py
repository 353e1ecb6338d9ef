"""Records the responses of an emulator to a workload, for the bare server."""

import base64
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from bare_server import Record, Response
from google.protobuf.message import Message
from measured_clients import TIMEOUT_SECONDS, Clients, TrustedServer
from outstanding import Row
from rocketmq_testkit.conformance.clients.grpc_client import GrpcClient
from rocketmq_testkit.conformance.clients.grpc_response import Failure
from rocketmq_testkit.fixtures.network.certificates import Authority
from rocketmq_testkit.remoting.client import RemotingClient
from rocketmq_testkit.remoting.wire import header_json
from rocketmq_testkit.remoting.wire.command import RemotingCommand
from rocketmq_testkit.remoting.wire.ext_fields import Header

OPAQUE = 987_654_321
"""Stands in a recorded header, to find the place of the opaque."""
DISTINCT = ("AckMessage", "EndTransaction")
"""RPCs whose requests differ each time, while their responses are equal: recorded once, as `Record.others`."""
MESSAGES = 64
"""Messages of the recorded work; a multiple of the number of outstanding requests of each row."""
Fields = Header | Mapping[str, object] | None
"""Ext fields of a request."""


class RecordingRemotingClient(RemotingClient):
    """Records the last response to each request code."""

    def __init__(self, record: Record, address: str, **more: Any) -> None:
        super().__init__(address, **more)
        self._record = record
        self._codes: dict[int, int] = {}
        """The code of each request without a response yet, by its opaque."""

    def submit(self, code: int, ext: Fields = None, body: bytes = b"") -> int:
        """Send a request without waiting."""
        opaque = super().submit(code, ext, body)
        self._codes[opaque] = code
        return opaque

    def submit_many(self, code: int, requests: Iterable[tuple[Fields, bytes]]) -> list[int]:
        """Send several requests with one code."""
        opaques = super().submit_many(code, requests)
        self._codes.update(dict.fromkeys(opaques, code))
        return opaques

    def oneway(self, code: int, ext: Fields = None, body: bytes = b"") -> None:
        """Send a oneway request, and record that there is no response to its code."""
        self._record.remoting[str(int(code))] = None
        super().oneway(code, ext, body)

    def collect(self, opaque: int, timeout: float | None = None) -> RemotingCommand:
        """Wait up to `timeout` seconds for a response and record it."""
        response = super().collect(opaque, timeout)
        self._record.remoting[str(int(self._codes.pop(opaque)))] = _parts(response)
        return response


class RecordingGrpcClient(GrpcClient):
    """Records the responses to each request."""

    def __init__(self, record: Record, *words: Any) -> None:
        super().__init__(*words)
        self._record = record

    def start_call(self, rpc: str, request: Message, **more: Any) -> Callable[[], Any]:
        """Start a unary RPC; the returned function records its response."""
        wait = super().start_call(rpc, request, **more)

        def response() -> Any:
            found = wait()
            if isinstance(found, Failure):
                return found
            if rpc in DISTINCT:
                self._record.others = [_message(found)]
            else:
                self._record.grpc[_message(request)] = [_message(found)]
            return found

        return response

    def open_receive(self, request: Any, **more: Any) -> Iterator[Any]:
        """Open the call of a receive; its responses are recorded when the last one has been read."""
        stream = super().open_receive(request, **more)

        def parts() -> Iterator[Any]:
            found = []
            for part in stream:
                found.append(_message(part))
                yield part
            self._record.grpc[_message(request)] = found

        return parts()


class RecordingClients(Clients):
    """Opens clients that record into `record`."""

    def __init__(self, *words: Any, **named: Any) -> None:
        super().__init__(*words, **named)
        self.record = Record()

    def remoting(self) -> RemotingClient:
        """Open a client of the remoting protocol."""
        address, tls = self._server.broker, self._context()
        return self._stack.enter_context(
            RecordingRemotingClient(self.record, address, timeout=TIMEOUT_SECONDS, tls=tls)
        )

    def grpc(self) -> GrpcClient:
        """Open a client of the gRPC protocol."""
        return self._stack.enter_context(RecordingGrpcClient(self.record, self._channel()))


def recorded(server: TrustedServer, row: Row) -> Record:
    """Run a workload once with an emulator that is prepared for it, and record the responses.

    The record of a workload with TLS has a new certificate.
    """
    with ExitStack() as stack:
        clients = RecordingClients(server, stack, tls=row.tls)
        row.make(clients)(MESSAGES)
        record = clients.record
    if row.tls:
        authority = Authority()
        record.authority = authority.certificate_pem.decode()
        record.certificate = authority.issue(["127.0.0.1"]).decode()
    return record


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _message(message: Message) -> str:
    return _base64(message.SerializeToString())


def _parts(response: RemotingCommand) -> Response:
    """Return the parts of a response: header up to the opaque, header after it, and body."""
    before, _, after = header_json.encode(replace(response, opaque=OPAQUE)).partition(str(OPAQUE).encode())
    return _base64(before), _base64(after), _base64(response.body)
