"""Sends rejected regardless of their content: no free write buffer, or a broker that does not serve yet."""

from collections.abc import Mapping
from dataclasses import replace

from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import grpc_case, remoting_case
from ...clients.remoting_response import DecodedResponse
from ...context.grpc import GrpcContext
from ...context.remoting import RemotingContext
from ...helpers.broker_config import change
from ...helpers.consumer import consuming
from ...helpers.sends import send_back
from ...helpers.transactions import COMMIT, transacting

WITHOUT_BUFFERS: Mapping[str, str] = {"transientStorePoolEnable": "true", "transientStorePoolSize": "0"}
SENDS_FROM_2100: Mapping[str, str] = {"startAcceptSendRequestTimeStamp": "4102444800000"}
"""Sends are accepted from the year 2100."""


@remoting_case("SendMessageProcessor.rejectRequest", tidy=True)
def all_sends_are_rejected_without_free_write_buffers(t: RemotingContext) -> None:
    """A broker without free write buffers rejects all sends, unchecked, and messages sent back.

    It serves all other requests, and accepts sends again when it needs no buffers any more.
    """
    producers, group = transacting(t), t.group()
    topic = producers.topic
    [sent] = t.sent(topic, 1)
    half = producers.half()
    t.note("changed", change(t, "transientStorePoolEnable=true\n"), 0)
    t.note("sent", t.send(topic), 2)
    t.note("sent by the first code", t.send_v1(topic), 2)
    t.note("sent to nowhere", t.send(""), 2)
    t.note("half message", producers.half(), 2)
    t.note("sent back", send_back(t, group, sent.place, 1), 2)
    t.note("pulled", t.pull(topic, group).bodies)
    t.note("committed", t.commit(topic, group, 1), 0)
    t.note("ended", producers.end(half, COMMIT), 0)
    t.note("made", t.config_of(t.topic(queues=1)), 0)
    t.note("changed back", change(t, "transientStorePoolEnable=false\n"), 0)
    t.note("sent then", t.send(topic, "then"), 0)
    t.note("stored", t.stored(topic, 3).bodies)


@remoting_case("DefaultMessageStore.isTransientStorePoolDeficient", settings=WITHOUT_BUFFERS)
def a_broker_started_without_write_buffers_rejects_sends(t: RemotingContext) -> None:
    """A broker that starts without write buffers rejects sends from the beginning."""
    topic = t.topic(queues=1)
    t.note("sent", t.send(topic), 2)
    t.note("sent to a new topic", t.send(t.new()), 2)
    t.note("pulled", t.pull(topic, t.group()), 19)


@grpc_case("SendMessageProcessor.rejectRequest", tidy=True)
def proxy_sends_are_accepted_without_free_write_buffers(t: GrpcContext) -> None:
    """Sends through the proxy are accepted without free write buffers, while those of remoting clients are rejected."""
    consumer = consuming(t, 1)
    t.note("changed", t.request(RequestCode.UPDATE_BROKER_CONFIG, {}, b"transientStorePoolEnable=true\n"), 0)
    refused = t.request(RequestCode.SEND_MESSAGE, t.send_fields(consumer.topic), b"refused")
    t.note("sent by the remoting protocol", refused, 2)
    t.note("sent", t.send(consumer.message("m1")), pb.OK)
    t.until(lambda: t.max_offset(consumer.topic) == 2)
    t.note("received", consumer.received_at_last().bodies)
    t.request(RequestCode.UPDATE_BROKER_CONFIG, {}, b"transientStorePoolEnable=false\n")


@remoting_case("SendMessageProcessor.preSend", settings=SENDS_FROM_2100)
def sends_before_start_accept_send_request_timestamp_are_rejected(t: RemotingContext) -> None:
    """A broker rejects sends before startAcceptSendRequestTimeStamp and creates no topic for them."""
    topic, new = t.topic(queues=1), t.new()
    t.note("sent", without_time(t.send(topic)), 1)
    t.note("sent to a new topic", without_time(t.send(new)), 1)
    t.note("made", t.config_of(new), 17)
    t.note("pulled", t.pull(topic, t.group()), 19)


@grpc_case("SendMessageProcessor.preSend", settings=SENDS_FROM_2100)
def proxy_sends_before_the_accept_timestamp_get_internal_server_error(t: GrpcContext) -> None:
    """Sends through the proxy before startAcceptSendRequestTimeStamp return INTERNAL_SERVER_ERROR."""
    consumer = consuming(t)
    sent = t.send(consumer.message("m0")).status
    t.note("sent", [sent.code, _before_the_time(sent.message)])


def without_time(response: DecodedResponse) -> DecodedResponse:
    """Remove the start time from a response, because it is formatted in the broker's time zone."""
    return replace(response, remark=_before_the_time(response.remark or ""))


def _before_the_time(text: str) -> str:
    return text.partition(", until ")[0]
