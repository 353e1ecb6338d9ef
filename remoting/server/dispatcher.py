"""Dispatch the frames of one listening port to its nodes: a broker, a name server or both.

It knows frames and the request table. It must not know sockets. Source of the error responses: NettyRemotingAbstract
(5.3.3).
"""

from collections.abc import Callable, Mapping
from itertools import count
from traceback import format_exception
from typing import Any, Protocol

from rocketmq_testkit.emulator.auth.authentication import Access, AccessDenied, Asking
from rocketmq_testkit.emulator.config import BrokerConfig
from rocketmq_testkit.emulator.gate.gate import Gate, Node
from rocketmq_testkit.emulator.gate.raw_request import RawRequest, Rejection
from rocketmq_testkit.emulator.kernel import bug_reports as bugs
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.operations import ChannelClosed, PushAnswered
from rocketmq_testkit.emulator.overload.request_pools import RequestPools
from rocketmq_testkit.emulator.stats.broker_stats import CLOSED, CONNECTED

from ..processors import PROCESSORS
from ..request import authorization as access
from ..request.call import NoticeCall, RemotingCall
from ..request.pool_of_code import pool_of
from ..request.request_code import BROKER_TO_CLIENT, HANDLED_ELSEWHERE, NAME_SERVER_ONLY, RequestCode
from ..request.request_table import Processor, Role
from ..wire import frame, header_json
from ..wire.answer_frame import answer
from ..wire.command import LANGUAGES, ONEWAY, RESPONSE
from .server_channel import RemotingChannel


class BrokerNode(Node, Protocol):
    """A broker, as far as this layer uses it."""

    config: BrokerConfig
    """The broker's configuration. Responses to sends have its region and its trace switch."""
    request_pools: RequestPools
    """The thread pools that the broker's requests pass through."""
    access: Access
    """Authentication and authorization of the broker's requests."""

    def count_connection(self, what: str) -> None:
        """Count a connection that was opened or closed."""


BrokerAddress = Callable[[str, int, RemotingChannel], str]
"""(broker name, broker id, client's channel) -> the `host:port` at which that client reaches that broker."""

Log = Callable[[str], None]


class Strangers(Protocol):
    """Warns about clients that connect to the wrong port."""

    def turned_away(self, peer: tuple[str, int], local: tuple[str, int], first: bytes) -> bool:
        """Warn about a connection that begins with another protocol. Returns False if that protocol is unknown."""

    def misdirected(self, label: str, peer: tuple[str, int], local: tuple[str, int], *, to_name_server: bool) -> None:
        """Warn about a request for a name server that reached a port without one, or likewise for a broker."""


class NoWarnings:
    """Logs no warnings."""

    def turned_away(self, _peer: tuple[str, int], _local: tuple[str, int], _first: bytes) -> bool:
        """Do nothing."""
        return False

    def misdirected(self, label: str, peer: tuple[str, int], local: tuple[str, int], *, to_name_server: bool) -> None:
        """Do nothing."""


_BEYOND_INT = 1 << 31
_LANGUAGES = frozenset(LANGUAGES)


class RemotingService:
    """The nodes of one port, and the dispatch of frames to them."""

    def __init__(
        self,
        *,
        gate: Gate,
        broker: BrokerNode | None,
        name_server: Node | None,
        broker_address: BrokerAddress,
        log: Log,
        strangers: Strangers | None = None,
    ) -> None:
        self._strangers = strangers or NoWarnings()
        self.broker_config = BrokerConfig() if broker is None else broker.config
        self.broker_address = broker_address
        self.log = log
        self._broker = broker
        self._name_server = name_server
        self._gate = gate
        nodes: dict[Role, Node | None] = {Role.BROKER: broker, Role.NAME_SERVER: name_server}
        self._served: Mapping[int, tuple[Processor, Node]] = {
            code: (processor, node)
            for code, processor in PROCESSORS.items()
            if (node := nodes[processor.role]) is not None and processor.operation in node.handlers
        }
        self._upcoming = {
            int(code): code.name
            for code in RequestCode
            if code not in HANDLED_ELSEWHERE
            and code not in BROKER_TO_CLIENT
            and code not in self._served
            and nodes[Role.NAME_SERVER if code in NAME_SERVER_ONLY else Role.BROKER] is not None
        }
        self._channels = count(1)
        self._opaques = count(0)
        self._told: set[int] = set()

    def engine_time_ms(self, client_ms: int) -> int:
        """Convert a client's timestamp close to now to the engine's time, which may have jumped."""
        return self._gate.engine_time_ms(client_ms)

    def next_channel_id(self, peer: tuple[str, int], local: tuple[str, int]) -> str:
        """Return an id for a new channel."""
        if self._broker is not None:
            self._broker.count_connection(CONNECTED)
        return f"remoting-{local[1]}-{next(self._channels)}-{peer[0]}:{peer[1]}"

    def next_opaque(self) -> int:
        """Return the next opaque of a request of this side. It wraps like a Java int."""
        return (next(self._opaques) + 0x80000000) % 0x100000000 - 0x80000000

    def handle(self, channel: RemotingChannel, serialize_type: int, header: bytes, body: bytes) -> None:
        """Serve one frame. Raises ProtocolError for an invalid header."""
        if serialize_type == frame.JSON:
            members = header_json.loads(header)
            get = members.get
            code, opaque, flag, ext = get("code"), get("opaque"), get("flag", 0), get("extFields")
            version, language = get("version", 0), get("language")
            if (
                not (code.__class__ is opaque.__class__ is flag.__class__ is version.__class__ is int)
                or not 0 <= code | opaque | flag | version < _BEYOND_INT
            ):
                code, opaque = header_json.integer(members, "code"), header_json.integer(members, "opaque")
                flag, version = header_json.integer(members, "flag"), header_json.integer(members, "version")
            if ext.__class__ is not dict:
                ext = {} if ext is None else header_json.ext_fields(ext)
            if language.__class__ is not str or language not in _LANGUAGES:
                language = header_json.language(members)
            remark = header_json.text(get("remark"))
        else:
            command = frame.decode(serialize_type, header, b"")
            code, opaque, flag, ext = command.code, command.opaque, command.flag, command.ext_fields or {}
            version, language, remark = command.version, command.language, command.remark
        if flag & RESPONSE:
            ticket = channel.answered(opaque)
            if ticket is None:
                self.log(f"{channel.channel_id}: an answer to nothing was dropped, opaque {opaque}")
            elif self._broker is not None:
                answered = PushAnswered(ticket, code, remark, header_json.ext_fields(ext) or None, body)
                self._gate.submit(self._broker, NoticeCall(channel, "PushAnswered"), answered)
            return
        served = self._served.get(code)
        broker = self._broker
        if broker is not None and broker.access.on and broker.request_pools.farewell(version) is None:
            denied = self._denied(channel, code, ext, body, version)
            if denied is not None:
                self._journal_refusal(broker, channel, code, ext, body, denied)
                if not flag & ONEWAY:
                    channel.send(answer(opaque, denied.code, denied.remark))
                return
        if served is None:
            refusal = self._unserved(code, version)
            self._warn_of_wrong_port(channel, code)
            self._journal_refusal(self._owner(code), channel, code, ext, body, refusal)
            if not flag & ONEWAY:
                channel.send(answer(opaque, refusal.code, refusal.remark))
            return
        processor, node = served
        call = RemotingCall(self, channel, processor, opaque, flag & ONEWAY != 0, version, language)
        try:
            call.header = parsed = processor.header.parse(ext)
            operation = processor.translate(call, parsed, body)
        except EngineError as malformed:
            self._journal_refusal(node, channel, code, ext, body, malformed)
            call.reply_failure(malformed)
            return
        except Exception as bug:
            self.report_bug(bug)
            failure = EngineError(ResponseCode.SYSTEM_ERROR, f"{type(bug).__name__}: {bug}")
            self._journal_refusal(node, channel, code, ext, body, failure)
            call.reply_failure(failure)
            return
        if broker is node and broker is not None and broker.request_pools.on:
            broker.request_pools.enter(pool_of(code), call, operation, version)
            return
        self._gate.submit(node, call, operation)

    def unreadable(self, channel: RemotingChannel, why: str, first: bytes) -> None:
        """Log and journal that a connection is closed because its bytes are not a valid request.

        `first` are the first bytes of the connection.
        """
        if not self._strangers.turned_away(channel.peer_address, channel.local_address, first):
            self.log(f"{channel.channel_id} closed: {why}")
        outcome = Rejection(None, "CONNECTION_CLOSED", why)
        self._gate.refused(self._owner(None).name, channel.channel_id, "UNREADABLE", RawRequest({}), outcome)

    def closed(self, channel: RemotingChannel) -> None:
        """Notify the broker that a connection was closed."""
        channel.active = False
        if self._broker is not None:
            self._broker.count_connection(CLOSED)
            self._gate.submit(self._broker, NoticeCall(channel, "ChannelClosed"), ChannelClosed())

    def report_bug(self, bug: BaseException) -> None:
        """Log an unexpected exception of this layer. Other requests are not affected."""
        report = "".join(format_exception(bug)).rstrip()
        self.log(report)
        bugs.note(report)

    def _denied(
        self, channel: RemotingChannel, code: int, ext: Mapping[str, Any], body: bytes, version: int
    ) -> AccessDenied | None:
        """Return the reason why a broker denies a request. A name server checks no credentials."""
        broker = self._broker
        if broker is None or self._owner(code) is not broker:
            return None
        asking = Asking(str(code), channel.channel_id, channel.remote_address[0])
        fields = header_json.ext_fields(dict(ext))
        try:
            access.check(broker.access, asking, fields, body, version, self.broker_config.broker_cluster_name)
        except AccessDenied as denied:
            return denied
        return None

    def _warn_of_wrong_port(self, channel: RemotingChannel, code: int) -> None:
        processor = PROCESSORS.get(code)
        if processor is None:
            return
        to_name_server = processor.role is Role.NAME_SERVER
        if (self._name_server if to_name_server else self._broker) is None:
            peer, local = channel.peer_address, channel.local_address
            self._strangers.misdirected(processor.label, peer, local, to_name_server=to_name_server)

    def _owner(self, code: int | None) -> Node:
        """Return the node that a request code is for, even if the code is unknown. None means that there is no code."""
        served = None if code is None else self._served.get(code)
        if served is not None:
            return served[1]
        first = (self._name_server, self._broker) if code in NAME_SERVER_ONLY else (self._broker, self._name_server)
        owner = first[0] or first[1]
        assert owner is not None, "a port serves a broker, a name server or both"
        return owner

    def _unserved(self, code: int, client_version: int) -> EngineError:
        """Return the error response to a request code that is not served: GO_AWAY or REQUEST_CODE_NOT_SUPPORTED."""
        farewell = None if self._broker is None else self._broker.request_pools.farewell(client_version)
        if farewell is not None:
            return farewell
        remark = f" request type {code} not supported"
        name = self._upcoming.get(code)
        if name is not None:
            remark += f": {name} is not emulated yet"
            if code not in self._told:
                self._told.add(code)
                self.log(f"request code {code} {name} is not emulated yet, it is answered REQUEST_CODE_NOT_SUPPORTED")
        return EngineError(ResponseCode.REQUEST_CODE_NOT_SUPPORTED, remark)

    def _journal_refusal(
        self,
        node: Node,
        channel: RemotingChannel,
        code: int,
        ext: Mapping[str, Any],
        body: bytes,
        refusal: EngineError,
    ) -> None:
        label = RequestCode(code).name if code in _KNOWN_CODES else str(code)
        request = RawRequest.of(((str(name), str(value)) for name, value in ext.items()), len(body))
        self._gate.refused(node.name, channel.channel_id, label, request, refusal)


_KNOWN_CODES = frozenset(int(code) for code in RequestCode)
