"""The facts of a request, a push or a new connection with which criteria are compared."""

from types import SimpleNamespace
from typing import Any

from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.emulator.faults.event_facts import EventFacts, NewConnectionFacts
from rocketmq_testkit.emulator.gate.effects import NotifyConsumerIdsChanged
from rocketmq_testkit.emulator.operations.send import SendMessage

NODE = Engine().brokers[0]
SEND = SendMessage("P", "T", 0, b"x", {"TAGS": "a", "UNIQ_KEY": "ID1"}, ("10.0.0.7", 4711), 0)


def _facts(subject: Any, channel_id: str, call: Any = None, asked: list[str] | None = None) -> EventFacts:
    def find(_node: object, channel: Any) -> list[str]:
        if asked is not None:
            asked.append(channel.channel_id)
        return ["of-channel"]

    channel: Any = SimpleNamespace(channel_id=channel_id, remote_address=("10.0.0.7", 4711))
    return EventFacts(NODE, channel, subject, call, None, find)


def test_a_request_has_the_facts_of_its_call_its_channel_and_its_operation() -> None:
    """The client id of the call is used without a look-up, and each fact is computed once."""
    asked: list[str] = []
    call = SimpleNamespace(
        label="SEND_MESSAGE_V2", protocol="remoting", client_id="c", client_language="JAVA", client_version="5.3.3"
    )
    facts = _facts(SEND, "remoting-1", call, asked)
    assert (facts.operation, facts.label, facts.protocol) == ("SendMessage", "SEND_MESSAGE_V2", "remoting")
    assert (facts.address, facts.channel_id) == ("10.0.0.7", "remoting-1")
    assert (facts.topics, facts.groups, list(facts.clients)) == (("T",), ("P",), ["c"])
    assert (facts.language, facts.version) == ("JAVA", "5.3.3")
    assert [(each.tag, each.message_id) for each in facts.messages] == [("a", "ID1")]
    assert facts.messages is facts.messages
    assert asked == []


def test_a_push_has_the_protocol_and_the_clients_of_its_channel_and_no_sdk() -> None:
    for channel_id, protocol in (("remoting-1", "remoting"), ("grpc:c", "grpc")):
        asked: list[str] = []
        facts = _facts(NotifyConsumerIdsChanged("G"), channel_id, asked=asked)
        assert (facts.label, facts.protocol, facts.groups) == ("NotifyConsumerIdsChanged", protocol, ("G",))
        assert (list(facts.clients), list(facts.clients), asked) == (["of-channel"], ["of-channel"], [channel_id])
        assert (facts.language, facts.version, list(facts.messages)) == ("", "", [])


def test_a_connection_has_an_address_and_no_client() -> None:
    facts = NewConnectionFacts("grpc", "broker-a", "10.0.0.7")
    assert (facts.protocol, facts.address, list(facts.clients), facts.channel_id) == ("grpc", "10.0.0.7", [], "")
