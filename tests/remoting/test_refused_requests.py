"""Every remoting request that is rejected before a service executes it is journaled, with its outcome."""

from dataclasses import replace

import pytest
from remoting_harness import Port
from rocketmq_testkit.emulator.config import BrokerConfig
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.emulator.gate.journal_entry import JournalEntry
from rocketmq_testkit.emulator.gate.raw_request import RawRequest, Rejection
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.operations.consume import AckMessage
from rocketmq_testkit.emulator.overload.request_pools import RefusalForm
from rocketmq_testkit.remoting.processors import NAME_SERVER_CODES, PROCESSORS
from rocketmq_testkit.remoting.request.request_code import RequestCode
from rocketmq_testkit.remoting.request.request_table import Role
from rocketmq_testkit.remoting.wire import frame
from rocketmq_testkit.remoting.wire.command import ONEWAY, RemotingCommand

_PROVIDER = "org.apache.rocketmq.auth.authentication.provider.LocalAuthenticationMetadataProvider"
_GUARDED = BrokerConfig(authentication_enabled=True, authentication_metadata_provider=_PROVIDER)
_PASSWORD = b'{"username":"ann","password":"open sesame","userType":"Normal"}'


def refused(port: Port) -> list[JournalEntry]:
    """Return the journal entries of rejected requests (event `refused`)."""
    return [entry for entry in port.engine.journal if entry.event == "refused"]


def error(entry: JournalEntry) -> tuple[str, str | None]:
    """Return the code and the remark of a rejected request."""
    assert isinstance(entry.outcome, EngineError)
    return entry.outcome.code.name, entry.outcome.remark


@pytest.mark.parametrize(("code", "label"), [(9_999, "9999"), (RequestCode.CONTROLLER_ELECT_MASTER, None)])
@pytest.mark.parametrize("oneway", [False, True])
def test_a_request_with_an_unserved_code_is_journaled(code: int, label: str | None, oneway: bool) -> None:
    """A request with a code that the emulator does not serve is journaled, even a oneway request."""
    port = Port()
    peer = port.peer()
    assert peer.send(RemotingCommand(code, opaque=1, flag=ONEWAY if oneway else 0, ext_fields={"topic": "T"}))
    assert len(peer.received()) == (0 if oneway else 1)
    (entry,) = refused(port)
    assert (entry.node, entry.client) == (port.engine.brokers[0].name, peer.channel.channel_id)
    assert entry.label == (label or RequestCode(code).name)
    assert entry.subject == RawRequest({"topic": "T"})
    assert error(entry)[0] == "REQUEST_CODE_NOT_SUPPORTED"
    (noted,) = port.engine.history.refused("T")
    assert (noted.channel, noted.label, noted.code) == (entry.client, entry.label, error(entry)[0])


def test_a_send_without_permission_is_recorded_in_the_history_with_its_message() -> None:
    """Topic, group, message id and keys are read from the short field names of SEND_MESSAGE_V2."""
    port = Port(Engine(brokers=[_GUARDED], now_ms=1_700_000_000_000))
    fields = {"AccessKey": "ann", "Signature": "c2lnbmVk", "a": "P", "b": "T", "i": "UNIQ_KEY\x01id-1\x02KEYS\x01k"}
    port.peer().ask(RequestCode.SEND_MESSAGE_V2, fields, b"m")
    (noted,) = port.engine.history.refused()
    assert (noted.operation, noted.topic, noted.group) == ("SEND_MESSAGE_V2", "T", "P")
    assert (noted.message_id, noted.keys, noted.code) == ("id-1", "k", "NO_PERMISSION")


@pytest.mark.parametrize("code", [int(code) for code, each in PROCESSORS.items() if each.role is Role.BROKER])
def test_a_no_permission_response_is_journaled_without_secrets(code: int) -> None:
    """NO_PERMISSION for any request code is journaled with the user and a masked signature."""
    port = Port(Engine(brokers=[_GUARDED], now_ms=1_700_000_000_000))
    peer = port.peer()
    response = peer.ask(code, {"AccessKey": "ann", "Signature": "c2lnbmVk", "SecurityToken": "t0k"}, _PASSWORD)
    (entry,) = refused(port)
    assert entry.label == RequestCode(code).name
    assert error(entry) == ("NO_PERMISSION", response.remark)
    assert entry.subject == RawRequest(
        {"AccessKey": "ann", "Signature": "***", "SecurityToken": "***"}, body_bytes=len(_PASSWORD)
    )
    assert "open sesame" not in repr(entry)


def test_a_request_with_malformed_fields_is_journaled() -> None:
    """A request with invalid fields or an invalid body is journaled with its response."""
    port = Port()
    response = port.peer().ask(RequestCode.PULL_MESSAGE, {"consumerGroup": "G", "queueId": "many"})
    (entry,) = refused(port)
    assert (entry.label, error(entry)[1]) == ("PULL_MESSAGE", response.remark)
    assert entry.subject == RawRequest({"consumerGroup": "G", "queueId": "many"})


@pytest.mark.parametrize("data", [frame.join(b'{"code":'), b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 4 + bytes(60)])
def test_bytes_that_are_no_request_are_journaled(data: bytes) -> None:
    """A connection that is closed because of invalid bytes is journaled with the reason."""
    port = Port()
    peer = port.peer()
    assert not peer.connection.received(data)
    (entry,) = refused(port)
    assert (entry.client, entry.label) == (peer.channel.channel_id, "UNREADABLE")
    assert isinstance(entry.outcome, Rejection)
    assert (entry.outcome.code, entry.outcome.name) == (None, "CONNECTION_CLOSED")
    assert entry.outcome.remark


def test_a_rejected_request_of_a_name_server_is_journaled_under_its_name() -> None:
    """This holds for requests to the name server's port, and for codes that only name servers serve."""
    engine = Engine(now_ms=1_700_000_000_000)
    port = Port(engine, name_server=engine.name_server)
    port.peer().ask(9_999)
    port = Port(engine)
    port.peer().ask(next(code for code in NAME_SERVER_CODES if code not in PROCESSORS))
    assert [entry.node for entry in refused(port)] == [engine.name_server.name] * 2


@pytest.mark.parametrize("form", RefusalForm)
def test_a_request_that_a_thread_pool_rejects_is_journaled(form: RefusalForm) -> None:
    """The journal entry has the operation, which was not executed."""
    config = BrokerConfig(request_refusals=f"ack={form.name}")
    port = Port(Engine(brokers=[config], now_ms=1_700_000_000_000))
    fields = {"consumerGroup": "G", "topic": "T", "queueId": 0, "extraInfo": "0 1 2 3 0 b 0 5", "offset": 5}
    response = port.peer().ask(RequestCode.ACK_MESSAGE, fields)
    (entry,) = refused(port)
    assert isinstance(entry.subject, AckMessage)
    assert (entry.subject.offset, entry.label) == (5, "ACK_MESSAGE")
    assert error(entry)[1] == response.remark


def test_go_away_is_journaled_for_served_and_unserved_codes() -> None:
    port = Port(Engine(brokers=[BrokerConfig(go_away_enable=True)], now_ms=1_700_000_000_000))
    peer = port.peer()
    for code in (RequestCode.GET_MAX_OFFSET, 9_999):
        response = peer.ask(code, {"topic": "T", "queueId": 0}, version=480)
        assert response.code == ResponseCode.GO_AWAY
    assert [(entry.label, error(entry)[0]) for entry in refused(port)] == [
        ("GET_MAX_OFFSET", "GO_AWAY"),
        ("9999", "GO_AWAY"),
    ]


def test_secrets_of_served_requests_are_masked() -> None:
    """Passwords of users and secret keys in configurations are masked in the journal, in requests and responses."""
    config = replace(
        _GUARDED,
        authentication_enabled=False,
        init_authentication_user='{"username":"root","password":"rosebud"}',
    )
    port = Port(Engine(brokers=[config], now_ms=1_700_000_000_000))
    peer = port.peer()
    peer.ask(RequestCode.AUTH_CREATE_USER, {"username": "ann"}, _PASSWORD)
    peer.ask(RequestCode.AUTH_UPDATE_USER, {"username": "ann"}, _PASSWORD)
    seen = peer.ask(RequestCode.AUTH_GET_USER, {"username": "ann"}).body
    seen += peer.ask(RequestCode.AUTH_LIST_USER, {}).body
    seen += peer.ask(RequestCode.GET_BROKER_CONFIG).body
    peer.ask(RequestCode.UPDATE_BROKER_CONFIG, {}, b"innerClientAuthenticationCredentials=sesame street\n")
    assert b"open sesame" in seen
    text = "\n".join(map(repr, port.engine.journal))
    assert text.count("'ann'") >= 3
    assert not [secret for secret in ("open sesame", "rosebud", "sesame street") if secret in text]
