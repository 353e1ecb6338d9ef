"""Configuration of the broker and the name server over the wire: read and changed as properties text.

Upstream ignores unknown keys and invalid values (Configuration.update, MixAll.properties2Object of 5.3.3), so typing
errors stay unnoticed. The emulator rejects such a change as a whole and names the nearest valid key or valid values.
"""

import json

import pytest
from remoting_harness import NOW, Peer, Port
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.remoting.request.request_code import RequestCode

BROKER = RequestCode.UPDATE_BROKER_CONFIG, RequestCode.GET_BROKER_CONFIG
NAME_SERVER = RequestCode.UPDATE_NAMESRV_CONFIG, RequestCode.GET_NAMESRV_CONFIG
REFUSED, FORBIDDEN = 1, 16


@pytest.fixture
def peer() -> Peer:
    """Return a client of a port of a broker and a name server."""
    return Port(Engine(now_ms=NOW)).peer()


def test_a_changed_broker_configuration_is_read_back_with_its_version(peer: Peer) -> None:
    """The broker's configuration is returned as text, with its version as JSON in an ext field.

    A change is read back.
    """
    assert peer.ask(RequestCode.UPDATE_BROKER_CONFIG, None, b"popPollingSize=7\n").code == 0
    response = peer.ask(RequestCode.GET_BROKER_CONFIG)
    assert b"popPollingSize=7\n" in response.body
    assert json.loads((response.ext_fields or {})["version"])["counter"] >= 1


def test_a_changed_name_server_configuration_is_read_back_without_version(peer: Peer) -> None:
    assert peer.ask(RequestCode.UPDATE_NAMESRV_CONFIG, None, b"orderMessageEnable=true\n").code == 0
    response = peer.ask(RequestCode.GET_NAMESRV_CONFIG)
    assert (response.code, response.ext_fields) == (0, None)
    assert b"orderMessageEnable=true\n" in response.body


@pytest.mark.parametrize(
    ("where", "text", "remark"),
    [
        (BROKER, b"popPolingSize=7\n", "unknown configuration key popPolingSize; did you mean popPollingSize?"),
        (BROKER, b"popPollingSize=7\nzzz=1\n", "unknown configuration key zzz"),
        (BROKER, b"popPollingSize=many\n", "popPollingSize=many: expected a whole number"),
        (BROKER, b"popPollingSize=-1\n", "popPollingSize=-1: expected at least 0"),
        (NAME_SERVER, b"orderMesageEnable=true\n", "unknown configuration key orderMesageEnable; did you mean "),
        (NAME_SERVER, b"orderMessageEnable=true\nzzz=1\n", "unknown configuration key zzz"),
        (NAME_SERVER, b"orderMessageEnable=maybe\n", "orderMessageEnable=maybe: expected true or false"),
        (NAME_SERVER, b"garbage", "unknown configuration key garbage"),
    ],
)
def test_a_change_with_an_invalid_key_or_value_is_rejected_as_a_whole(
    peer: Peer, where: tuple[RequestCode, RequestCode], text: bytes, remark: str
) -> None:
    """A change with an invalid key or value is rejected, and its valid keys are not applied.

    The response names the nearest key or the valid range.
    """
    change, tell = where
    before = peer.ask(tell).body
    response = peer.ask(change, None, text)
    assert response.code == REFUSED
    assert (response.remark or "").startswith(remark)
    assert peer.ask(tell).body == before


@pytest.mark.parametrize(
    ("where", "names"),
    [
        (BROKER, ["brokerConfigPath", "rocketmqHome", "configBlackList"]),
        (NAME_SERVER, ["configBlackList", "configStorePath", "kvConfigPath", "rocketmqHome"]),
    ],
)
def test_a_change_of_a_blacklisted_key_is_rejected_as_a_whole(
    peer: Peer, where: tuple[RequestCode, RequestCode], names: list[str]
) -> None:
    before = peer.ask(where[1]).body
    for name in names:
        response = peer.ask(where[0], None, f"{name}=/x\npopPollingSize=7\norderMessageEnable=true\n".encode())
        assert (response.code, response.remark) == (FORBIDDEN, "Can not update config in black list.")
    assert peer.ask(where[1]).body == before


@pytest.mark.parametrize("where", [BROKER, NAME_SERVER])
@pytest.mark.parametrize("text", [b"", b"\n", b"# popPolingSize=1\n! a comment, too\n"])
def test_a_change_without_keys_succeeds_and_changes_nothing(
    peer: Peer, where: tuple[RequestCode, RequestCode], text: bytes
) -> None:
    before = peer.ask(where[1]).body
    assert peer.ask(where[0], None, text).code == 0
    assert peer.ask(where[1]).body == before
