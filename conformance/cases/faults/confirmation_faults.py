"""Messages that a broker stores and does not confirm: the fault `refuse_append` with two of its reasons.

On the emulator a rule causes the fault; a real broker has the keys in `real`.
"""

from collections.abc import Mapping

from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import grpc_case, remoting_case
from ...clients.pending import Pending
from ...clients.remoting_sends import short_names
from ...context.grpc import GrpcContext
from ...context.remoting import RemotingContext, connection_state
from ...helpers.disk import LATE_FLUSH
from ...helpers.real_faults import REFUSE_APPEND, refusing_appends

_SHORT_WAIT: Mapping[str, str] = {"slaveTimeout": "1000"}
_WITHOUT_SLAVE: Mapping[str, str] = {"brokerRole": "SYNC_MASTER", "inSyncReplicas": "2", **_SHORT_WAIT}
_AT_ONCE = {"WAIT": "false"}
"""Properties of a send that waits neither for a flush nor for a slave: upstream's isWaitStoreMsgOK is false."""


def _start_send(t: RemotingContext, topic: str) -> Pending:
    return t.start(RequestCode.SEND_MESSAGE_V2, short_names(t.send_fields(topic)), b"waits")


def _note_response_after(t: GrpcContext, topic: str, seconds: float, code: int) -> None:
    """Send a message, wait `seconds` for the broker's timeout, and note the response, which must have the code."""
    waiting = t.start_call("SendMessage", sv.SendMessageRequest(messages=[t.message(topic)]))
    t.wait(seconds)
    t.note("sent", waiting(), code)


@remoting_case("FlushDiskWatcher.run", real=LATE_FLUSH, fault=REFUSE_APPEND)
def a_send_with_a_late_flush_is_not_confirmed(t: RemotingContext) -> None:
    """A send whose flush is late returns FLUSH_DISK_TIMEOUT and is stored. One with WAIT=false succeeds."""
    topic = t.topic(queues=1)
    with refusing_appends(t, "flush_timeout"):
        waiting = _start_send(t, topic)
        t.note("sent", t.arrival(waiting), 10)
        t.note("waits for nobody", t.send(topic, "does not", properties=_AT_ONCE), 0)
        t.note("stored", t.stored(topic, 2).bodies)
        t.note("connection", connection_state(t.broker))


@grpc_case("SendMessageActivity.convertToSendMessageResponse", real=LATE_FLUSH, fault=REFUSE_APPEND)
def a_send_with_a_late_flush_is_not_confirmed_through_the_proxy(t: GrpcContext) -> None:
    """A send through the proxy whose flush is late returns MASTER_PERSISTENCE_TIMEOUT and is stored."""
    topic = t.topic(queues=1)
    with refusing_appends(t, "flush_timeout"):
        _note_response_after(t, topic, 6, pb.MASTER_PERSISTENCE_TIMEOUT)
        t.until(lambda: t.max_offset(topic))
        t.note("stored", t.max_offset(topic))


@remoting_case("GroupTransferService.doWaitTransfer", settings=_SHORT_WAIT, real=_WITHOUT_SLAVE, fault=REFUSE_APPEND)
def a_send_without_a_slave_is_not_confirmed(t: RemotingContext) -> None:
    """A send returns FLUSH_SLAVE_TIMEOUT after `slaveTimeout` and is stored. One with WAIT=false succeeds at once."""
    topic = t.topic(queues=1)
    with refusing_appends(t, "slave_timeout"):
        watch = t.stopwatch()
        waiting = _start_send(t, topic)
        t.note("stored at once", t.stored(topic).bodies)
        t.note_arrival(waiting, watch, low=0.9, high=5, code=12)
        t.note("waits for nobody", t.send(topic, properties=_AT_ONCE), 0)
        t.note("connection", connection_state(t.broker))


@grpc_case(
    "SendMessageActivity.convertToSendMessageResponse",
    settings=_SHORT_WAIT,
    real=_WITHOUT_SLAVE,
    fault=REFUSE_APPEND,
)
def a_send_without_a_slave_is_not_confirmed_through_the_proxy(t: GrpcContext) -> None:
    """A send through the proxy without a slave returns SLAVE_PERSISTENCE_TIMEOUT and is stored."""
    topic = t.topic(queues=1)
    with refusing_appends(t, "slave_timeout"):
        _note_response_after(t, topic, 2, pb.SLAVE_PERSISTENCE_TIMEOUT)
        t.note("stored", t.max_offset(topic))
