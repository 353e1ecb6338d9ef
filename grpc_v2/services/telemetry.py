"""Telemetry: the stream on which a client sends its settings and receives commands. Source: ClientActivity (5.3.3).

Each settings command gets a response at once on the same stream. The response to the first one of a stream is repeated
a little later: some clients start to wait for it only after other work, and lose an early response (see `deviations`).
"""

from rocketmq_testkit.emulator.operations import Heartbeat, PushAnswered

from ..config.duration_lists import times_ms
from ..convert.client_settings import answered, with_defaults
from ..proto import definition_pb2 as pb
from ..proto import service_pb2 as sv
from ..proxy.authorization import check as check_access
from ..proxy.proxy import NO_CLIENT_ID
from ..proxy.rpc_call import RpcCall
from ..proxy.rpc_table import Rpc
from ..proxy.sessions import Session
from ..rules.proxy_rules import check_stream_language, is_blank
from ..rules.status import OK, Refusal, StreamRefusal, rejection, status_rejection
from ..transport import MethodKind, StatusCode
from .clients import consume_type, register, subscriptions
from .verification import take_result

_FAILED = "process client telemetryCommand failed. "
_LAST_KNOWN_TYPE = pb.PULL_CONSUMER  # the last client type in the proto files of 5.3.3


def telemetry(call: RpcCall, _request: None) -> None:
    """Store settings and respond to them. Send transaction checks to producers, and messages to verify to consumers."""
    stream = _Stream(call)
    call.server_call.on_message = lambda command: call.guard(stream.take, command)
    call.server_call.on_half_close = lambda: call.guard(stream.end)
    call.server_call.on_cancel(stream.forget)


class _Stream:
    """One open stream."""

    __slots__ = ("_call", "_fresh", "_session")

    def __init__(self, call: RpcCall) -> None:
        self._call = call
        self._session: Session | None = None
        self._fresh = True

    def take(self, command: sv.TelemetryCommand) -> None:
        """Handle a command of the client: settings, or the result of a direct consumption.

        Other commands are ignored.
        """
        call = self._call
        call.proxy.tick()
        if (denied := self._turned_away(command)) is not None:
            call.journal_refusal(rejection(denied), command)
            self._send(sv.TelemetryCommand(status=denied.status()))
            self.end()
        elif command.WhichOneof("command") == "settings":
            try:
                self._settle(command.settings)
            except StreamRefusal as refusal:
                call.journal_refusal(status_rejection(refusal.grpc_status, refusal.message), command)
                call.server_call.finish(refusal.grpc_status, refusal.message)
                self.forget()
        elif command.WhichOneof("command") == "verify_message_result":
            take_result(call.proxy, command)

    def _turned_away(self, command: sv.TelemetryCommand) -> Refusal | None:
        call = self._call
        if call.proxy.access.on:
            try:
                check_access(call.proxy.access, call.server_call, command)
            except Refusal as refusal:
                return refusal
        return Refusal(pb.CLIENT_ID_REQUIRED, NO_CLIENT_ID) if is_blank(call.client_id) else None

    def end(self) -> None:
        """End the stream, because the client has sent its last command."""
        self._call.server_call.finish()
        self.forget()

    def forget(self) -> None:
        """Detach the closed stream from its session, which may continue."""
        session, self._session = self._session, None
        if session is not None:
            self._call.proxy.tick()
            self._call.proxy.sessions.stream_closed(session, self._call)

    def _settle(self, settings: pb.Settings) -> None:
        call = self._call
        proxy = call.proxy
        language = call.server_call.metadata.get("x-mq-language", "")
        group = _check(call, settings, language)
        session = proxy.sessions.settle(call.client_id, with_defaults(settings, proxy.config), call.server_call.peer)
        if self._session is not None and self._session is not session:
            proxy.sessions.stream_closed(self._session, call)
        self._session = call.session = session
        call.channel = session.channel
        proxy.sessions.stream_opened(session, call)
        register(call, session, language, group)
        self._answer()
        if self._fresh:
            self._fresh = False
            for delay_ms in times_ms(proxy.config.settings_push_again_millis):
                proxy.later(delay_ms, lambda: call.guard(self._answer), "settings again", call.client_id)

    def _answer(self) -> None:
        session = self._session
        if session is None or self._call.server_call.finished:
            return
        proxy = self._call.proxy
        group = proxy.group_config(session.settings.subscription.group.name)
        self._send(sv.TelemetryCommand(status=OK, settings=answered(session.settings, group, proxy.config)))

    def _send(self, command: sv.TelemetryCommand) -> None:
        self._call.server_call.send(command.SerializeToString())


def _check(call: RpcCall, settings: pb.Settings, language: str) -> str | None:
    """Validate settings and return a consumer's group, None for a producer. Raises StreamRefusal as upstream does."""
    kind = settings.WhichOneof("pub_sub")
    if kind is None:
        raise StreamRefusal(StatusCode.INVALID_ARGUMENT, "there is no publishing or subscription data in settings")
    try:
        if kind == "publishing":
            for topic in settings.publishing.topics:
                call.proxy.topic_name(topic)
            if settings.publishing.topics:
                _check_language(language)
            return None
        group = call.proxy.group_name(settings.subscription.group)
        _check_language(language)
        _check_type(settings.client_type)
        subscriptions(settings.subscription.subscriptions, 0)
    except Refusal as refusal:
        raise StreamRefusal(StatusCode.INVALID_ARGUMENT, _FAILED + refusal.message) from None
    except ValueError:
        raise StreamRefusal(StatusCode.INVALID_ARGUMENT, _FAILED + "expression format is not correct") from None
    return group


def _check_language(language: str) -> None:
    try:
        check_stream_language(language, StatusCode.INTERNAL)
    except StreamRefusal as refusal:
        raise StreamRefusal(refusal.grpc_status, _FAILED + refusal.message) from None


def _check_type(client_type: int) -> None:
    if consume_type(client_type) is None:
        known = 0 <= client_type <= _LAST_KNOWN_TYPE
        name = pb.ClientType.Name(client_type) if known else "UNRECOGNIZED"
        raise StreamRefusal(StatusCode.INTERNAL, f"{_FAILED}Client type is not consumer, type: {name}")


def _refuse(call: RpcCall, refusal: Refusal) -> None:
    """End the stream after an unexpected exception. Upstream has no text for it."""
    call.server_call.finish(StatusCode.INTERNAL, _FAILED + refusal.message)


TELEMETRY = Rpc(
    "Telemetry",
    sv.TelemetryCommand,
    sv.TelemetryCommand,
    telemetry,
    (Heartbeat, PushAnswered),
    (pb.CLIENT_ID_REQUIRED,),
    MethodKind.BIDI,
    _refuse,
    anonymous=True,
)
