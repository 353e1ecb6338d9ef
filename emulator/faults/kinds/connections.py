"""Faults of connections: refused, silent, closed, reset, half closed, or ended by GOAWAY."""

from ...gate.call import Outcome
from ..client_call import GrpcLine, Line, Response
from ..events import ConnectEvent, RequestEvent, ResponseEvent
from ..fault import Fault, kind
from ..parameters import Flag, parameter
from ..phase import Phase

CONNECT = (Phase.CONNECT,)
EITHER = (Phase.REQUEST, Phase.RESPONSE)
GRPC = ("grpc",)


@kind(
    "refuse_connection",
    layer="connections",
    phases=CONNECT,
    situation="Nothing listens at the port, or a firewall rejects the connection.",
)
class RefuseConnection(Fault):
    """Reset each new connection before a byte is read."""

    def on_connect(self, event: ConnectEvent) -> None:
        """Reset the connection."""
        event.connection.refuse()


@kind(
    "ignore_connection",
    layer="connections",
    phases=CONNECT,
    situation="A broker whose process hangs: the kernel accepts connections, but the broker never responds.",
)
class IgnoreConnection(Fault):
    """Accept new connections, discard what clients send, and never write."""

    def on_connect(self, event: ConnectEvent) -> None:
        """Ignore the connection."""
        event.connection.ignore()


@kind(
    "fail_tls_handshake",
    layer="connections",
    phases=CONNECT,
    situation="An expired certificate, or a client that no longer trusts the authority.",
)
class FailTlsHandshake(Fault):
    """End the TLS handshake of new connections with a fatal alert. Connections without TLS are closed."""

    def on_connect(self, event: ConnectEvent) -> None:
        """Fail the handshake."""
        event.connection.fail_handshake()


class _Ending(Fault):
    """A fault that ends or breaks the connection of a request, before or after the request is carried out."""

    __slots__ = ()

    def act(self, line: Line) -> None:
        """Break the connection."""
        raise NotImplementedError

    def on_request(self, event: RequestEvent) -> bool:
        """Break the connection; the request is not carried out."""
        self.act(event.call.line)
        event.call.abandon()
        return True

    def on_response(self, event: ResponseEvent) -> Outcome:
        """Break the connection in place of sending the response."""
        return event.intercept(lambda response: self.act(response.line), loses=True)


@kind(
    "close_connection",
    layer="connections",
    phases=EITHER,
    situation="A broker or a load balancer closes connections in order.",
)
class CloseConnection(_Ending):
    """Close the connection of a request, before it is carried out (phase `request`) or after it (`response`)."""

    def act(self, line: Line) -> None:
        """Close the connection."""
        line.close()


@kind(
    "reset_connection",
    layer="connections",
    phases=EITHER,
    situation="A broker crashes, or a firewall forgets the connection.",
)
class ResetConnection(_Ending):
    """Reset the connection of a request, before it is carried out (phase `request`) or after it (`response`)."""

    def act(self, line: Line) -> None:
        """Reset the connection."""
        line.reset()


@kind(
    "half_close_connection",
    layer="connections",
    phases=EITHER,
    situation="A proxy closes one direction of a connection.",
)
class HalfCloseConnection(_Ending):
    """Close the sending direction of the connection; further requests are read and carried out."""

    def act(self, line: Line) -> None:
        """Close the sending direction."""
        line.half_close()


class _Passing(Fault):
    """A fault of the connection that does not affect the request itself."""

    __slots__ = ()

    def act(self, line: GrpcLine) -> None:
        """Change the connection."""
        raise NotImplementedError

    def on_request(self, event: RequestEvent) -> bool:
        """Change the connection; the request is carried out."""
        self._act(event.call.line)
        return False

    def on_response(self, event: ResponseEvent) -> Outcome:
        """Change the connection after the response is sent."""
        return event.intercept(self._send_and_act)

    def _send_and_act(self, response: Response) -> None:
        response.send()
        self._act(response.line)

    def _act(self, line: Line) -> None:
        assert isinstance(line, GrpcLine), "the declaration limits the fault to gRPC"
        self.act(line)


@kind(
    "go_away",
    layer="connections",
    phases=(Phase.RESPONSE, Phase.REQUEST),
    protocols=GRPC,
    situation="A proxy shuts down gracefully, or a load balancer limits the age of connections.",
)
class GoAway(_Passing):
    """Send HTTP/2 GOAWAY frames. `respond('GO_AWAY')` is the remoting protocol's.

    In a graceful shutdown the proxy sends GOAWAY and PING. After the client's acknowledgement of the PING, the proxy
    sends a second GOAWAY, refuses requests from then on, and closes the connection after the last open stream.
    """

    finish: bool = parameter(
        Flag(), "True: as in a graceful shutdown; false: the connection is closed at once", default=True
    )

    def act(self, line: GrpcLine) -> None:
        """Send GOAWAY."""
        line.go_away(finish=self.finish)


@kind(
    "withhold_window",
    layer="connections",
    phases=(Phase.REQUEST, Phase.RESPONSE),
    protocols=GRPC,
    situation="A proxy that no longer reads request bodies: HTTP/2 flow control stops the client.",
)
class WithholdWindow(_Passing):
    """Give the client no more flow-control credit on its connection: its window is never opened again."""

    def act(self, line: GrpcLine) -> None:
        """Withhold credit."""
        line.withhold_window()


@kind(
    "ignore_pings",
    layer="connections",
    phases=(Phase.REQUEST, Phase.RESPONSE),
    protocols=GRPC,
    situation="A connection that is dead without a trace: keep-alive of the client must find out.",
)
class IgnorePings(_Passing):
    """Respond to no HTTP/2 PING of the connection from now on."""

    def act(self, line: GrpcLine) -> None:
        """Ignore pings."""
        line.ignore_pings()
