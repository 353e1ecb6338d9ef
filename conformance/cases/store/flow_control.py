"""Sends rejected regardless of their content: no free write buffer, or a broker that does not serve yet."""

from collections.abc import Mapping
from dataclasses import replace

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import grpc_case, remoting_case
from ...clients.remoting_response import Answer
from ...context.grpc import Grpc
from ...context.remoting import Remoting
from ...helpers.broker_config import change
from ...helpers.consumer import consuming
from ...helpers.sends import back
from ...helpers.transactions import COMMIT, transacting

WITHOUT_BUFFERS: Mapping[str, str] = {"transientStorePoolEnable": "true", "transientStorePoolSize": "0"}
NOT_YET: Mapping[str, str] = {"startAcceptSendRequestTimeStamp": "4102444800000"}
"""Sends are accepted from the year 2100."""


@remoting_case("SendMessageProcessor.rejectRequest", tidy=True)
def without_buffers_sends_are_refused(t: Remoting) -> None:
    """A broker without free write buffers rejects all sends, unchecked, and messages sent back.

    It serves all other requests, and accepts sends again when it needs no buffers any more.
    """
    producers, group = transacting(t), t.group()
    topic = producers.topic
    [sent] = t.sent(topic, 1)
    half = producers.half()
    t.see("changed", change(t, "transientStorePoolEnable=true\n"), 0)
    t.see("sent", t.send(topic), 2)
    t.see("sent by the first code", t.send_v1(topic), 2)
    t.see("sent to nowhere", t.send(""), 2)
    t.see("half message", producers.half(), 2)
    t.see("sent back", back(t, group, sent.place, 1), 2)
    t.see("pulled", t.pull(topic, group).bodies)
    t.see("committed", t.commit(topic, group, 1), 0)
    t.see("ended", producers.end(half, COMMIT), 0)
    t.see("made", t.config_of(t.topic(queues=1)), 0)
    t.see("changed back", change(t, "transientStorePoolEnable=false\n"), 0)
    t.see("sent then", t.send(topic, "then"), 0)
    t.see("stored", t.stored(topic, 3).bodies)


@remoting_case("DefaultMessageStore.isTransientStorePoolDeficient", settings=WITHOUT_BUFFERS)
def a_broker_may_start_without_buffers(t: Remoting) -> None:
    """A broker that starts without write buffers rejects sends from the beginning."""
    topic = t.topic(queues=1)
    t.see("sent", t.send(topic), 2)
    t.see("sent to a new topic", t.send(t.new()), 2)
    t.see("pulled", t.pull(topic, t.group()), 19)


@grpc_case("SendMessageProcessor.rejectRequest", tidy=True)
def a_proxy_does_not_ask_for_buffers(t: Grpc) -> None:
    """Sends through the proxy are accepted without free write buffers, while those of remoting clients are rejected."""
    consumer = consuming(t, 1)
    t.see("changed", t.ask(RequestCode.UPDATE_BROKER_CONFIG, {}, b"transientStorePoolEnable=true\n"), 0)
    refused = t.ask(RequestCode.SEND_MESSAGE, t.send_fields(consumer.topic), b"refused")
    t.see("sent by the remoting protocol", refused, 2)
    t.see("sent", t.send(consumer.message("m1")), 20000)
    t.until(lambda: t.max_offset(consumer.topic) == 2)
    t.see("received", consumer.received_at_last().bodies)
    t.ask(RequestCode.UPDATE_BROKER_CONFIG, {}, b"transientStorePoolEnable=false\n")


@remoting_case("SendMessageProcessor.preSend", settings=NOT_YET)
def a_broker_may_serve_later(t: Remoting) -> None:
    """A broker rejects sends before startAcceptSendRequestTimeStamp and creates no topic for them."""
    topic, new = t.topic(queues=1), t.new()
    t.see("sent", without_time(t.send(topic)), 1)
    t.see("sent to a new topic", without_time(t.send(new)), 1)
    t.see("made", t.config_of(new), 17)
    t.see("pulled", t.pull(topic, t.group()), 19)


@grpc_case("SendMessageProcessor.preSend", settings=NOT_YET)
def a_proxy_is_told_that_it_is_too_early(t: Grpc) -> None:
    """Sends through the proxy before that time return INTERNAL_SERVER_ERROR."""
    consumer = consuming(t)
    sent = t.send(consumer.message("m0")).status
    t.see("sent", [sent.code, _before_the_time(sent.message)])


def without_time(answer: Answer) -> Answer:
    """Remove the start time from a response, because it is formatted in the broker's time zone."""
    return replace(answer, remark=_before_the_time(answer.remark or ""))


def _before_the_time(text: str) -> str:
    return text.partition(", until ")[0]
