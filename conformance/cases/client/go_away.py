"""A graceful shutdown that announces itself: clients of recent versions get the response GO_AWAY."""

from collections.abc import Mapping

from rocketmq_testkit.remoting.client import RemotingClient

from ...case import remoting_case
from ...clients.remoting_response import DecodedResponse
from ...context.remoting import RemotingContext
from ...deployment.target import Capability

GRACEFUL_SHUTDOWN: Mapping[str, str] = {"enableShutdownGracefully": "true", "shutdownWaitTimeSeconds": "4"}
"""Settings: before it stops, the broker sends GO_AWAY to newer clients and serves older ones for another 4 s."""
LAST_VERSION_WITHOUT_GO_AWAY, FIRST_VERSION_WITH_GO_AWAY = 475, 476
"""Version numbers of clients: MQVersion.Version.V5_3_1, and the version after it."""
_STOP_SECONDS = 60


@remoting_case(
    "NettyRemotingAbstract.processRequestCommand", settings=GRACEFUL_SHUTDOWN, alone=True, needs={Capability.RESTART}
)
def recent_clients_get_go_away_during_graceful_shutdown(t: RemotingContext) -> None:
    """During a graceful shutdown clients newer than 5.3.1 get GO_AWAY for every request, also on new connections.

    The broker still serves older clients, and the name server has already removed the broker.
    """
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic, 1)
    newer = t.connect(version=FIRST_VERSION_WITH_GO_AWAY)
    older = t.connect(version=LAST_VERSION_WITHOUT_GO_AWAY)

    def send(connection: RemotingClient) -> DecodedResponse:
        return t.send(topic, "late", to=connection)

    t.note("before", [send(newer).code, send(older).code])
    stopping = t.stopping()
    has_go_away = t.until(lambda: t.pull(topic, group, to=newer).code == 1500, _STOP_SECONDS)
    t.require(has_go_away, f"no pull returned GO_AWAY within {_STOP_SECONDS} s after the start of the shutdown")
    t.note("sent", send(newer), 1500)
    t.note("asked for what there is not", t.request(9999, to=newer), 1500)
    t.note("on a new connection", t.pull(topic, group, to=t.connect(version=FIRST_VERSION_WITH_GO_AWAY)), 1500)
    t.note("sent by an older client", send(older).code)
    t.note("pulled by an older client", t.pull(topic, group, to=older).bodies)
    t.note("route", t.route(topic).code)
    t.wait(int(GRACEFUL_SHUTDOWN["shutdownWaitTimeSeconds"]))
    stopping.join(_STOP_SECONDS)
