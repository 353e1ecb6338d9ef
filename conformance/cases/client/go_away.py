"""A graceful shutdown that announces itself: clients of recent versions get the response GO_AWAY."""

from collections.abc import Mapping

from rocketmq_testkit.remoting.client import RemotingClient

from ...case import remoting_case
from ...clients.remoting_response import Response
from ...context.remoting import RemotingContext
from ...deployment.target import Capability

SAYS_SO: Mapping[str, str] = {"enableShutdownGracefully": "true", "shutdownWaitTimeSeconds": "4"}
LAST_THAT_STAYS, FIRST_THAT_GOES = 475, 476
"""MQVersion.Version.V5_3_1 and the next version."""
_STOP_SECONDS = 60


@remoting_case("NettyRemotingAbstract.processRequestCommand", settings=SAYS_SO, alone=True, needs={Capability.RESTART})
def recent_clients_get_go_away_during_graceful_shutdown(t: RemotingContext) -> None:
    """During a graceful shutdown recent clients get GO_AWAY for every request and connection.

    Older clients are still served, and the name server has already removed the broker.
    """
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic, 1)
    newer, older = t.connect(version=FIRST_THAT_GOES), t.connect(version=LAST_THAT_STAYS)

    def sent(connection: RemotingClient) -> Response:
        return t.send(topic, "late", to=connection)

    t.note("before", [sent(newer).code, sent(older).code])
    stopping = t.stopping()
    t.require(t.until(lambda: t.pull(topic, group, to=newer).code == 1500, _STOP_SECONDS), "it did not say so")
    t.note("sent", sent(newer), 1500)
    t.note("asked for what there is not", t.request(9999, to=newer), 1500)
    t.note("on a new connection", t.pull(topic, group, to=t.connect(version=FIRST_THAT_GOES)), 1500)
    t.note("sent by an older client", sent(older).code)
    t.note("pulled by an older client", t.pull(topic, group, to=older).bodies)
    t.note("route", t.route(topic).code)
    t.wait(int(SAYS_SO["shutdownWaitTimeSeconds"]))
    stopping.join(_STOP_SECONDS)
