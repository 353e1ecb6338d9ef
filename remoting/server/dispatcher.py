"""Dispatch the frames of one listening port to its nodes: a broker, a name server or both.

It knows frames and the request table. It must not know sockets. Source of the error responses: NettyRemotingAbstract
(5.3.3).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count
from traceback import format_exception
from typing import Any, Protocol

from rocketmq_testkit.emulator.auth.access_control import AccessControl, AccessDenied, AccessRequest
from rocketmq_testkit.emulator.config import BrokerConfig
from rocketmq_testkit.emulator.gate.call import Node
from rocketmq_testkit.emulator.gate.gate import Gate
from rocketmq_testkit.emulator.gate.raw_request import RawRequest, Rejection
from rocketmq_testkit.emulator.kernel import bug_reports as bugs
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.operations.clients import ChannelClosed
from rocketmq_testkit.emulator.operations.send import ClientResponded
from rocketmq_testkit.emulator.overload.request_pools import BrokerRequestPools
from rocketmq_testkit.emulator.stats.broker_stats import CLOSED, CONNECTED
from rocketmq_testkit.emulator.stats.response_counts import ResponseCounts

from ..processors import NAME_SERVER_CODES, PROCESSORS, RIGHTS
from ..processors.unserved import UNSERVED, UnservedReason
from ..request import authorization
from ..request.call import BrokerAddress, EventCall, RemotingCall, Responses
from ..request.request_code import RequestCode
from ..request.request_table import Processor, Role
from ..request.required_rights import no_rights
from ..wire import frame, header_json
from ..wire.command import ONEWAY, RESPONSE
from ..wire.frame import JSON
from ..wire.header_json import Head, read_head
from ..wire.response_frame import encode_response
from .server_channel import RemotingChannel


class BrokerNode(Node, Protocol):
    """A broker, as far as this layer uses it."""

    config: BrokerConfig
    """The broker's configuration. Responses to sends have its region and its trace switch."""
    request_pools: BrokerRequestPools
    """The thread pools that the broker's requests pass through."""
    responses: ResponseCounts
    """The responses that metrics report."""
    access: AccessControl
    """Authentication and authorization of the broker's requests."""

    def count_connection(self, event: str) -> None:
        """Count a connection that was opened (`event` is CONNECTED) or closed (CLOSED)."""


Log = Callable[[str], None]


class WrongPortWarnings(Protocol):
    """Warns about clients that connect to the wrong port."""

    def warn_other_protocol(self, peer: tuple[str, int], local: tuple[str, int], first: bytes) -> bool:
        """Warn about a connection that begins with another protocol. Returns False if that protocol is unknown."""

    def warn_wrong_node(
        self, label: str, peer: tuple[str, int], local: tuple[str, int], *, to_name_server: bool
    ) -> None:
        """Warn about a request at a port without its node: a name server if `to_name_server`, else a broker."""


class NoWrongPortWarnings:
    """Logs no warnings."""

    def warn_other_protocol(self, _peer: tuple[str, int], _local: tuple[str, int], _first: bytes) -> bool:
        """Do nothing."""
        return False

    def warn_wrong_node(
        self, label: str, peer: tuple[str, int], local: tuple[str, int], *, to_name_server: bool
    ) -> None:
        """Do nothing."""


class RemotingDispatcher:
    """The nodes of one port, and the dispatch of frames to them."""

    def __init__(
        self,
        *,
        gate: Gate,
        broker: BrokerNode | None,
        name_server: Node | None,
        broker_address: BrokerAddress,
        log: Log,
        wrong_port_warnings: WrongPortWarnings | None = None,
    ) -> None:
        self._wrong_port_warnings = wrong_port_warnings or NoWrongPortWarnings()
        self.broker_config = BrokerConfig() if broker is None else broker.config
        self.broker_address = broker_address
        self.log = log
        self._broker = broker
        self._name_server = name_server
        self._gate = gate
        self.clock = gate.clock
        self.responses: Responses = (ResponseCounts() if broker is None else broker.responses).tally
        nodes: dict[Role, Node | None] = {Role.BROKER: broker, Role.NAME_SERVER: name_server}
        self._served: Mapping[int, tuple[Processor, Node]] = {
            code: (processor, node)
            for code, processor in PROCESSORS.items()
            if (node := nodes[processor.role]) is not None and processor.operation in node.handlers
        }
        self._not_yet_emulated = {
            int(code): code.name
            for code in RequestCode
            if (code not in UNSERVED or UNSERVED[code].reason is UnservedReason.BETWEEN_SERVERS)
            and code not in self._served
            and nodes[Role.NAME_SERVER if code in NAME_SERVER_CODES else Role.BROKER] is not None
        }
        self._channels = count(1)
        self._opaques = count(0)
        self._logged_codes: set[int] = set()

    def engine_time_ms(self, client_ms: int) -> int:
        """Convert a client's timestamp close to now to the engine's time, which may have jumped."""
        return self._gate.engine_time_ms(client_ms)

    def next_channel_id(self, peer: tuple[str, int], local: tuple[str, int]) -> str:
        """Return an id for a new channel, and count its connection."""
        if self._broker is not None:
            self._broker.count_connection(CONNECTED)
        return f"remoting-{local[1]}-{next(self._channels)}-{peer[0]}:{peer[1]}"

    def next_opaque(self) -> int:
        """Return the next opaque of a request of this side. It wraps like a Java int."""
        return (next(self._opaques) + 0x80000000) % 0x100000000 - 0x80000000

    def handle(self, channel: RemotingChannel, serialize_type: int, header: bytes, body: bytes) -> None:
        """Serve one frame. Raises ProtocolError for an invalid header.

        A request passes the check of access, the request table, its translation to an operation, and the thread pools.
        Steps that each request takes are written out here: as a method, each would add about 1 % to the bytecodes of a
        send. Steps for the other requests are methods.
        """
        head = read_head(header) if serialize_type == JSON else _read_other_head(serialize_type, header)
        code, opaque, flag, ext, version, language, _ = head
        if flag & RESPONSE:
            self._handle_response(channel, head, body)
            return
        broker = self._broker
        pools = go_away_error = None
        if broker is not None:
            if broker.request_pools.is_active:
                pools = broker.request_pools
                go_away_error = pools.go_away_error(version)
            if broker.access.is_active and go_away_error is None and self._refuse_denied(broker, channel, head, body):
                return
        served = self._served.get(code)
        if served is None:
            self._refuse_unserved(_ReceivedRequest.of(channel, head, body), go_away_error)
            return
        processor, node = served
        try:
            parsed = processor.header.parse(ext)
            call = RemotingCall(self, channel, processor, opaque, flag & ONEWAY != 0, version, language, parsed)
            operation = processor.translate(call, parsed, body)
        except Exception as error:
            self._refuse_malformed(node, _ReceivedRequest.of(channel, head, body), error)
            return
        if pools is None or node is not broker:
            self._gate.submit(node, call, operation)
        else:
            pools.enter(processor.pool, call, operation, go_away_error)

    def report_unreadable(self, channel: RemotingChannel, reason: str, first: bytes) -> None:
        """Log and journal that a connection is closed because its bytes are not a valid request.

        `first` are the first bytes of the connection.
        """
        if not self._wrong_port_warnings.warn_other_protocol(channel.peer_address, channel.local_address, first):
            self.log(f"{channel.channel_id} closed: {reason}")
        outcome = Rejection(None, "CONNECTION_CLOSED", reason)
        self._gate.record_refusal(
            self._owner(None).name, channel.channel_id, "UNREADABLE", RawRequest({}), outcome=outcome
        )

    def closed(self, channel: RemotingChannel) -> None:
        """Notify the broker that a connection was closed."""
        channel.active = False
        if self._broker is not None:
            self._broker.count_connection(CLOSED)
            self._gate.submit(self._broker, EventCall(channel, "ChannelClosed"), ChannelClosed())

    def report_bug(self, bug: BaseException) -> None:
        """Log an unexpected exception of this layer. Other requests are not affected."""
        report = "".join(format_exception(bug)).rstrip()
        self.log(report)
        bugs.note(report)

    def _handle_response(self, channel: RemotingChannel, head: Head, body: bytes) -> None:
        """Pass a client's response to the broker whose request it answers; drop one without such a request."""
        code, opaque, _, ext, _, _, remark = head
        ticket = channel.pop_ticket(opaque)
        if ticket is None:
            self.log(f"{channel.channel_id}: response without a request dropped: opaque={opaque}")
        elif self._broker is not None:
            responded = ClientResponded(ticket, code, remark, header_json.ext_fields(ext) or None, body=body)
            self._gate.submit(self._broker, EventCall(channel, "ClientResponded"), responded)

    def _refuse_denied(self, broker: BrokerNode, channel: RemotingChannel, head: Head, body: bytes) -> bool:
        """Refuse a request that a broker denies, and return True if it does. A name server checks no credentials."""
        code, _, _, ext, version, _, _ = head
        if self._owner(code) is not broker:
            return False
        access_request = AccessRequest(str(code), channel.channel_id, channel.remote_address[0])
        fields = header_json.ext_fields(dict(ext))
        rights, cluster = RIGHTS.get(code, no_rights), self.broker_config.broker_cluster_name
        try:
            authorization.check(
                broker.access, access_request, rights, ext=fields, body=body, version=version, cluster=cluster
            )
        except AccessDenied as denied:
            self._refuse(broker, _ReceivedRequest.of(channel, head, body), denied)
            return True
        return False

    def _refuse_malformed(self, node: Node, request: "_ReceivedRequest", error: Exception) -> None:
        """Refuse a request that has no operation. Any exception but EngineError is a bug, which is reported."""
        if not isinstance(error, EngineError):
            self.report_bug(error)
            error = EngineError(ResponseCode.SYSTEM_ERROR, f"{type(error).__name__}: {error}")
        self._refuse(node, request, error)

    def _refuse_unserved(self, request: "_ReceivedRequest", go_away_error: EngineError | None) -> None:
        """Refuse a request code that is not served: with GO_AWAY if the broker sends it, or as not supported."""
        refusal = go_away_error or self._unserved_error(request.code)
        self._warn_wrong_port(request.channel, request.code)
        self._refuse(self._owner(request.code), request, refusal)

    def _refuse(self, node: Node, request: "_ReceivedRequest", refusal: EngineError) -> None:
        """Journal a request that becomes no operation, and send its error response: code and remark, no ext fields."""
        code = request.code
        label = RequestCode(code).name if code in _KNOWN_CODES else str(code)
        raw = RawRequest.of(((str(name), str(value)) for name, value in request.ext.items()), len(request.body))
        channel_id = request.channel.channel_id
        self._gate.record_refusal(node.name, channel_id, label, raw, outcome=refusal, number=request.opaque)
        self.responses[label, refusal.code, 0, request.oneway] += 1
        if not request.oneway:
            request.channel.send(encode_response(request.opaque, refusal.code, refusal.remark))

    def _warn_wrong_port(self, channel: RemotingChannel, code: int) -> None:
        processor = PROCESSORS.get(code)
        if processor is None:
            return
        to_name_server = processor.role is Role.NAME_SERVER
        if (self._name_server if to_name_server else self._broker) is None:
            peer, local = channel.peer_address, channel.local_address
            self._wrong_port_warnings.warn_wrong_node(processor.label, peer, local, to_name_server=to_name_server)

    def _owner(self, code: int | None) -> Node:
        """Return the node that a request code is for, even if the code is unknown. None means that there is no code."""
        served = None if code is None else self._served.get(code)
        if served is not None:
            return served[1]
        first = (self._name_server, self._broker) if code in NAME_SERVER_CODES else (self._broker, self._name_server)
        owner = first[0] or first[1]
        assert owner is not None, "a port serves a broker, a name server or both"
        return owner

    def _unserved_error(self, code: int) -> EngineError:
        """Return REQUEST_CODE_NOT_SUPPORTED for a request code that is not served. Log each code once."""
        remark = f" request type {code} not supported"
        name = self._not_yet_emulated.get(code)
        if name is not None:
            remark += f": {name} is not implemented"
            if code not in self._logged_codes:
                self._logged_codes.add(code)
                self.log(f"request code {code} {name} is not implemented, the response is REQUEST_CODE_NOT_SUPPORTED")
        return EngineError(ResponseCode.REQUEST_CODE_NOT_SUPPORTED, remark)


@dataclass(frozen=True, slots=True, eq=False)
class _ReceivedRequest:
    """A request that is checked or refused before it becomes an operation."""

    channel: RemotingChannel
    code: int
    opaque: int
    oneway: bool
    ext: Mapping[str, Any]
    body: bytes

    @classmethod
    def of(cls, channel: RemotingChannel, head: Head, body: bytes) -> "_ReceivedRequest":
        """Return the request with a header."""
        code, opaque, flag, ext, _, _, _ = head
        return cls(channel, code, opaque, flag & ONEWAY != 0, ext, body)


def _read_other_head(serialize_type: int, header: bytes) -> Head:
    """Read a header that is not JSON. Raises ProtocolError."""
    command = frame.decode(serialize_type, header, b"")
    ext = command.ext_fields or {}
    return command.code, command.opaque, command.flag, ext, command.version, command.language, command.remark


_KNOWN_CODES = frozenset(int(code) for code in RequestCode)
