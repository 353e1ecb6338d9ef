"""Queries for messages by key and by id."""

from typing import Any

from ..scenario import scenario
from ..sdk.scenario_context import ScenarioContext
from ..sdk.sdk_clients import text


@scenario("QueryMessageProcessor.queryMessage", verbs={"admin", "query"})
def a_message_is_found_by_its_key(s: ScenarioContext) -> None:
    """A query by key returns the messages that have this key, and no others."""
    topic = s.topic()
    producer = s.producer(topic)
    producer.send(topic, "first", keys=["red", "large"])
    producer.send(topic, "second", keys=["blue"])
    producer.send(topic, "third", keys=["red"])
    s.process().call("admin", as_="admin-" + topic)
    now = s.deployment.now_ms()
    span = {"begin": now - 3_600_000, "end": now + 3_600_000}

    def found(key: str) -> list[Any]:
        reply = s.process().call("query", on="admin-" + topic, topic=topic, key=key, max=32, **span)
        return sorted(text(message) for message in reply["messages"])

    # The index is written shortly after the messages.
    s.wait_until(lambda: len(found("red")) == 2, "two messages with the key red")
    s.note("red", found("red"))
    s.note("blue", found("blue"))
    s.refusal("green", lambda: s.note("green found", found("green")))


@scenario("QueryMessageProcessor.viewMessageById", verbs={"admin", "view"})
def a_message_is_found_by_its_offset_message_id(s: ScenarioContext) -> None:
    """A query by the message id that contains the commit log offset returns the message."""
    topic = s.topic()
    producer = s.producer(topic)
    reply = producer.send(topic, "hello", tag="a", keys=["k"])
    s.process().call("admin", as_="admin-" + topic)
    message = s.process().call("view", on="admin-" + topic, topic=topic, id=reply["offset_id"])["message"]
    s.note("message", {"body": text(message), **{name: message[name] for name in ("topic", "tag", "keys", "offset")}})
