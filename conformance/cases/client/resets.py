"""Delivery of an offset reset to the clients of a group."""

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...context.remoting import RemotingContext


@remoting_case("PullMessageProcessor.processRequest")
def the_first_pull_of_any_client_after_a_reset_gets_offset_moved(t: RemotingContext) -> None:
    """After an offset reset the first pull of any client of the group returns PULL_OFFSET_MOVED; later pulls do not."""
    topic, group = t.topic(queues=2), t.group()
    for queue in (0, 1):
        t.sent(topic, 3, queue=queue)
    for queue in (0, 1):
        t.commit(topic, group, 3, queue)
    first, second = t.connect(), t.connect()
    for name, connection in (("a", first), ("b", second)):
        t.heartbeat(t.new(f"client {name}"), groups={group: {topic: "*"}}, to=connection)
    ext = {"topic": topic, "group": group, "timestamp": 0, "isForce": True}
    t.note("reset", t.request(RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, ext), 0)
    for label, connection, queue in (
        ("the second client", second, 0),
        ("the first client", first, 0),
        ("the second client again", second, 0),
        ("the first client, the other queue", first, 1),
        ("the second client, the other queue", second, 1),
    ):
        response = t.pull(topic, group, queue, 3, to=connection)
        t.note(label, [response.code, response.fields.get("nextBeginOffset")])
    stranger = t.pull(topic, t.group(), 0, 3)
    t.note("another group", stranger.code)
