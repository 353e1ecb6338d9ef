"""Telemetry: the stream on which a client sends its settings and receives commands. Source: ClientActivity (5.3.3).

Each settings command gets a response at once on the same stream. The response to the first one of a stream is repeated
a little later: some clients start to wait for it only after other work, and lose an early response (see `deviations`).
"""

from collections.abc import Callable
from dataclasses import dataclass

from rocketmq_testkit.emulator.auth.access_control import AccessControl
from rocketmq_testkit.emulator.kernel.timer_kind import TimerKind
from rocketmq_testkit.emulator.operations.clients import Heartbeat
from rocketmq_testkit.emulator.operations.send import ClientResponded

from ..config.duration_lists import times_ms
from ..config.proxy_config import ProxyConfig
from ..convert.client_settings import settings_for_client, with_defaults
from ..proto import definition_pb2 as pb
from ..proto import service_pb2 as sv
from ..proxy.authorization import check as check_access
from ..proxy.delayed_calls import DelayedCalls
from ..proxy.proxy import NO_CLIENT_ID
from ..proxy.required_rights import to_send_settings
from ..proxy.routes import Routes
from ..proxy.rpc_call import RpcCall
from ..proxy.rpc_table import Rpc
from ..proxy.sessions import Session, SessionRegistry
from ..rules.proxy_rules import check_stream_language, group_name, is_blank
from ..rules.status import OK, Refusal, StreamRefusal, rejection, status_rejection
from ..transport import MethodKind, StatusCode
from .clients import ClientRegistration, consume_type, subscriptions
from .direct_consumption import DirectConsumption

_FAILED = "process client telemetryCommand failed. "
_LAST_KNOWN_TYPE = pb.PULL_CONSUMER  # the last client type in the proto files of 5.3.3


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TelemetryService:
    """Serves telemetry streams. `tick` advances the engine's time to now."""

    routes: Routes
    sessions: SessionRegistry
    registration: ClientRegistration
    direct_consumption: DirectConsumption
    access: AccessControl
    config: ProxyConfig
    delayed_calls: DelayedCalls
    tick: Callable[[], None]

    def telemetry(self, call: RpcCall, _request: None) -> None:
        """Store settings and respond to them. Send transaction checks, and requests to consume one given message."""
        stream = _TelemetryStream(self, call)
        call.server_call.listen(
            lambda command: call.run_guarded(stream.handle, command), lambda: call.run_guarded(stream.end)
        )
        call.server_call.on_cancel(stream.detach)

    def send_refusal(self, call: RpcCall, refusal: Refusal) -> None:
        """End the stream after an unexpected exception, with upstream's prefix of such texts."""
        call.server_call.finish(StatusCode.INTERNAL, _FAILED + refusal.message)

    def check(self, settings: pb.Settings, language: str) -> str | None:
        """Validate settings and return a consumer's group, None for a producer.

        Raises StreamRefusal as upstream does.
        """
        kind = settings.WhichOneof("pub_sub")
        if kind is None:
            raise StreamRefusal(StatusCode.INVALID_ARGUMENT, "there is no publishing or subscription data in settings")
        try:
            if kind == "publishing":
                for topic in settings.publishing.topics:
                    self.routes.topic_name(topic)
                if settings.publishing.topics:
                    _check_language(language)
                return None
            group = group_name(settings.subscription.group)
            _check_language(language)
            _check_type(settings.client_type)
            subscriptions(settings.subscription.subscriptions, 0)
        except Refusal as refusal:
            raise StreamRefusal(StatusCode.INVALID_ARGUMENT, _FAILED + refusal.message) from None
        except ValueError:
            raise StreamRefusal(StatusCode.INVALID_ARGUMENT, _FAILED + "expression format is not correct") from None
        return group


class _TelemetryStream:
    """One open stream."""

    __slots__ = ("_call", "_first_settings", "_service", "_session")

    def __init__(self, service: TelemetryService, call: RpcCall) -> None:
        self._service = service
        self._call = call
        self._session: Session | None = None
        self._first_settings = True

    def handle(self, command: sv.TelemetryCommand) -> None:
        """Handle a command of the client: settings, or the result of a direct consumption.

        Other commands are ignored.
        """
        self._service.tick()
        if self._call.rpc.gate.rules is None:
            self._carry_out(self._call, command)
        else:
            self._obey_rules(command)

    def _obey_rules(self, command: sv.TelemetryCommand) -> None:
        """Handle a command as the rules of faults demand: as a call of its own."""
        from ..proxy.proxy_only_call import CommandCall, obey_rules

        call = CommandCall(self._call, command, self.detach)
        kind = command.WhichOneof("command")
        heartbeat, responds = None, True
        names: tuple[str, ...] = ()
        if self._denial(command) is None:
            responds = kind == "settings"
            if kind == "settings":
                heartbeat = self._heartbeat_of(command.settings)
            elif kind == "verify_message_result":
                names = (ClientResponded.__name__,)
        obey_rules(
            call, lambda each: self._carry_out(each, command), operation=heartbeat, names=names, responds=responds
        )

    def _heartbeat_of(self, settings: pb.Settings) -> Heartbeat | None:
        service, call = self._service, self._call
        language = call.server_call.metadata.get("x-mq-language", "")
        try:
            return service.registration.heartbeat(call, settings, language, service.check(settings, language))
        except StreamRefusal:
            return None

    def _carry_out(self, call: RpcCall, command: sv.TelemetryCommand) -> None:
        """Handle a command. `call` is that of the stream, or of the command while there are rules of faults."""
        if (denied := self._denial(command)) is not None:
            call.journal_refusal(rejection(denied), command)
            call.server_call.reply(sv.TelemetryCommand(status=denied.status()).SerializeToString())
            self.detach()
        elif command.WhichOneof("command") == "settings":
            try:
                self._handle_settings(call, command.settings)
            except StreamRefusal as refusal:
                call.journal_refusal(status_rejection(refusal.grpc_status, refusal.message), command)
                call.server_call.finish(refusal.grpc_status, refusal.message)
                self.detach()
        elif command.WhichOneof("command") == "verify_message_result":
            self._service.direct_consumption.handle_result(command)

    def _denial(self, command: sv.TelemetryCommand) -> Refusal | None:
        call = self._call
        access = self._service.access
        if access.is_active:
            try:
                check_access(access, call.server_call, command, call.rpc.rights)
            except Refusal as refusal:
                return refusal
        return Refusal(pb.CLIENT_ID_REQUIRED, NO_CLIENT_ID) if is_blank(call.client_id) else None

    def end(self) -> None:
        """End the stream, because the client has sent its last command."""
        self._call.server_call.finish()
        self.detach()

    def detach(self) -> None:
        """Detach the closed stream from its session, which may continue."""
        session, self._session = self._session, None
        if session is not None:
            self._service.tick()
            self._service.sessions.stream_closed(session, self._call.server_call)

    def _handle_settings(self, call: RpcCall, settings: pb.Settings) -> None:
        stream, service = self._call, self._service
        sessions, server_call = service.sessions, stream.server_call
        language = server_call.metadata.get("x-mq-language", "")
        group = service.check(settings, language)
        session = sessions.update_settings(stream.client_id, with_defaults(settings, service.config), server_call.peer)
        if self._session is not None and self._session is not session:
            sessions.stream_closed(self._session, server_call)
        self._session = stream.session = session
        stream.channel = session.channel
        if server_call.finished:  # a rule of faults has delayed the settings beyond the end of the stream
            sessions.stream_closed(session, server_call)
        else:
            sessions.stream_opened(session, server_call)
        heartbeat = service.registration.heartbeat(stream, session.settings, language, group)
        service.registration.register(stream, session, heartbeat)
        self._send_settings(call)
        if self._first_settings:
            self._first_settings = False
            # A rule of faults that acts on the response decides alone when the client gets it.
            delays_ms = () if call.responding_rules else times_ms(service.config.settings_push_again_millis)
            for delay_ms in delays_ms:
                service.delayed_calls.after(
                    delay_ms,
                    lambda: stream.run_guarded(self._send_settings, stream),
                    TimerKind.GRPC_SETTINGS,
                    stream.client_id,
                )

    def _send_settings(self, call: RpcCall) -> None:
        session = self._session
        if session is None or self._call.server_call.finished:
            return
        service = self._service
        group = service.routes.group_config(session.settings.subscription.group.name)
        command = sv.TelemetryCommand(status=OK, settings=settings_for_client(session.settings, group, service.config))
        call.server_call.send(command.SerializeToString())


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


TELEMETRY = Rpc(
    "Telemetry",
    sv.TelemetryCommand,
    sv.TelemetryCommand,
    TelemetryService.telemetry,
    operations=(ClientResponded, Heartbeat),
    codes=(pb.CLIENT_ID_REQUIRED,),
    kind=MethodKind.BIDI,
    send_refusal=TelemetryService.send_refusal,
    anonymous=True,
    rights=to_send_settings,
)
