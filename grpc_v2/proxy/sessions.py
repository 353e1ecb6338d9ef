"""Sessions of clients, by client id, independent of their connections.

A session begins with the first settings of a client. It ends when the client terminates, or when its last telemetry
stream has been closed for as long as upstream keeps a silent client. Unlike in upstream, a session with an open stream
never expires (see `deviations`). Source: GrpcClientSettingsManager, GrpcChannelManager, GrpcClientChannel.
"""

from collections.abc import Callable, Iterator
from typing import Protocol

from rocketmq_testkit.emulator.client.client_text import host_port
from rocketmq_testkit.emulator.faults.defects import Defects
from rocketmq_testkit.emulator.gate.call import GRPC_CHANNEL
from rocketmq_testkit.emulator.gate.effects import Effect
from rocketmq_testkit.emulator.history.seen_clients import SeenClient
from rocketmq_testkit.emulator.kernel.scheduler import Scheduler, Timer
from rocketmq_testkit.emulator.kernel.timer_kind import TimerKind

from ..proto import definition_pb2 as pb

SESSION_TIMEOUT_MS = 130_000
"""In ms. Upstream drops a silent client after 120 s, at the next of its scans (seen: 124 to 135 s)."""


class CommandStream(Protocol):
    """An open telemetry stream, as a session uses it."""

    def send(self, message: bytes) -> None:
        """Send one encoded command to the client."""


class SessionChannel:
    """A client, as a Channel of the gate."""

    __slots__ = ("_on_effect", "channel_id", "remote_address", "streams")

    def __init__(
        self, client_id: str, remote_address: tuple[str, int], on_effect: Callable[[Effect], None] | None
    ) -> None:
        self.channel_id = f"{GRPC_CHANNEL}{client_id}"
        self.remote_address = remote_address
        self.streams: list[CommandStream] = []
        """Open telemetry streams, the newest last."""
        self._on_effect = on_effect

    @property
    def active(self) -> bool:
        """True if the client can receive server-initiated commands."""
        return bool(self.streams)

    def push(self, effect: Effect) -> None:
        """Forward an effect of the engine to the client."""
        if self._on_effect is not None:
            self._on_effect(effect)


class Session:
    """The session of one client."""

    __slots__ = ("channel", "client_id", "last_seen_ms", "settings", "since_ms", "timer")

    def __init__(self, client_id: str, settings: pb.Settings, channel: SessionChannel, now_ms: int) -> None:
        self.client_id = client_id
        self.settings = settings
        """The settings that the client sent, with defaults for fields that a consumer omitted."""
        self.channel = channel
        self.since_ms = now_ms
        """The time of its first settings (ms)."""
        self.last_seen_ms = now_ms
        self.timer: Timer | None = None

    @property
    def is_producer(self) -> bool:
        """True if its settings are those of a producer. A client is either a producer or a consumer."""
        return self.settings.HasField("publishing")

    @property
    def language(self) -> str:
        """The language of its SDK by RocketMQ's name, or the number if the name is not known."""
        number = self.settings.user_agent.language
        known = pb.Language.DESCRIPTOR.values_by_number.get(number)
        return str(number) if known is None else known.name

    def at_instant(self) -> "Session":
        """Return a copy as of now, for readers on another thread. Settings are replaced, never changed."""
        own = self.channel
        channel = SessionChannel(self.client_id, own.remote_address, None)
        channel.streams = own.streams[:]
        made = Session(self.client_id, self.settings, channel, self.since_ms)
        made.last_seen_ms = self.last_seen_ms
        return made

    @property
    def seen(self) -> SeenClient:
        """The client, as the history keeps it."""
        address = host_port(*self.channel.remote_address)
        return SeenClient(self.client_id, self.language, self.settings.user_agent.version, address)


def _ignore(_session: Session) -> None:
    pass


class SessionRegistry:
    """All sessions of a proxy."""

    def __init__(
        self,
        scheduler: Scheduler,
        on_effect: Callable[[SessionChannel, Effect], None],
        on_end: Callable[[Session], None],
        *,
        defects: Defects,
        on_settings: Callable[[Session], None] = _ignore,
    ) -> None:
        self._defects = defects
        self._scheduler = scheduler
        self._on_effect = on_effect
        self._on_end = on_end
        self._on_settings = on_settings
        self._sessions: dict[str, Session] = {}

    def find(self, client_id: str) -> Session | None:
        """Return the session of a client, None if it has not sent its settings."""
        return self._sessions.get(client_id)

    def __len__(self) -> int:
        return len(self._sessions)

    def __iter__(self) -> Iterator[Session]:
        return iter(list(self._sessions.values()))

    def update_settings(self, client_id: str, settings: pb.Settings, remote_address: tuple[str, int]) -> Session:
        """Create or update the session of a client with new settings."""
        session = self._sessions.get(client_id)
        if session is None:
            channel = SessionChannel(client_id, remote_address, lambda effect: self._on_effect(channel, effect))
            session = self._sessions[client_id] = Session(client_id, settings, channel, self._scheduler.now_ms)
        session.settings = settings
        session.channel.remote_address = remote_address
        self._on_settings(session)
        self.touch(session)
        return session

    def touch(self, session: Session) -> None:
        """Record that the client is alive."""
        session.last_seen_ms = self._scheduler.now_ms
        if self._expires_despite_streams(session):
            self._schedule_expiry(session)

    def postpone_expiry(self, ms: int) -> None:
        """Postpone the expiry of all sessions by `ms`, because the clock is about to jump.

        No client can send anything during the jump.
        """
        for session in self._sessions.values():
            session.last_seen_ms += ms

    def stream_opened(self, session: Session, stream: CommandStream) -> None:
        """Add a telemetry stream to the session. Commands go to the newest stream."""
        streams = session.channel.streams
        if stream in streams:
            streams.remove(stream)
        streams.append(stream)

    def stream_closed(self, session: Session, stream: CommandStream) -> None:
        """Remove a closed telemetry stream. A session without streams lives only as long as heartbeats arrive."""
        streams = session.channel.streams
        if stream in streams:
            streams.remove(stream)
        if not streams and self._sessions.get(session.client_id) is session:
            self._schedule_expiry(session)

    def end(self, client_id: str) -> Session | None:
        """Remove the session of a client and return it, None if there is none."""
        session = self._sessions.pop(client_id, None)
        if session is not None and session.timer is not None:
            session.timer.cancel()
        return session

    def close(self) -> None:
        """Remove all sessions without notifications, because the emulator stops."""
        for client_id in list(self._sessions):
            self.end(client_id)

    def _expires_despite_streams(self, session: Session) -> bool:
        """True if open streams do not keep a session: a consumer's, if `settings_expire_with_open_stream` is on.

        GrpcClientSettingsManager.onWaitEnd drops the settings of consumers that their group no longer has as members.
        """
        return self._defects.settings_expire_with_open_stream and not session.is_producer

    def _schedule_expiry(self, session: Session) -> None:
        if session.timer is None or not session.timer.active:
            due_ms = session.last_seen_ms + SESSION_TIMEOUT_MS
            session.timer = self._scheduler.call_at(
                due_ms, lambda: self._expire(session), TimerKind.GRPC_SESSION, session.client_id
            )

    def _expire(self, session: Session) -> None:
        session.timer = None
        if session.channel.streams and not self._expires_despite_streams(session):
            return
        if session.last_seen_ms + SESSION_TIMEOUT_MS > self._scheduler.now_ms:
            self._schedule_expiry(session)
            return
        self.end(session.client_id)
        self._on_end(session)
