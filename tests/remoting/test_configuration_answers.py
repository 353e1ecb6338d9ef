"""Configuration of the broker and the name server over the wire: read and changed as properties text.

Upstream ignores unknown keys and invalid values (Configuration.update, MixAll.properties2Object of 5.3.3), so that
typing errors stay unnoticed. The emulator rejects such a change as a whole and names the nearest valid key or value.
"""

import json

import pytest
from remoting_world import NOW, Peer, Port
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.remoting.request.request_code import RequestCode

BROKER = RequestCode.UPDATE_BROKER_CONFIG, RequestCode.GET_BROKER_CONFIG
NAME_SERVER = RequestCode.UPDATE_NAMESRV_CONFIG, RequestCode.GET_NAMESRV_CONFIG
REFUSED, FORBIDDEN = 1, 16


@pytest.fixture
def peer() -> Peer:
    """A client of a broker and a name server on one port."""
    return Port(Engine(now_ms=NOW)).peer()


def test_the_brokers_configuration(peer: Peer) -> None:
    """The broker's configuration is returned as text, with its version as JSON in an ext field.

    A change is read back.
    """
    assert peer.ask(RequestCode.UPDATE_BROKER_CONFIG, None, b"popPollingSize=7\n").code == 0
    answer = peer.ask(RequestCode.GET_BROKER_CONFIG)
    assert b"popPollingSize=7\n" in answer.body
    assert json.loads((answer.ext_fields or {})["version"])["counter"] >= 1


def test_the_name_servers_configuration(peer: Peer) -> None:
    """The name server's configuration is returned as text without a version. A change is read back."""
    assert peer.ask(RequestCode.UPDATE_NAMESRV_CONFIG, None, b"orderMessageEnable=true\n").code == 0
    answer = peer.ask(RequestCode.GET_NAMESRV_CONFIG)
    assert (answer.code, answer.ext_fields) == (0, None)
    assert b"orderMessageEnable=true\n" in answer.body


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
def test_a_change_that_is_not_understood_changes_nothing(
    peer: Peer, where: tuple[RequestCode, RequestCode], text: bytes, remark: str
) -> None:
    """A change with an invalid key or value is rejected, and its valid keys are not applied.

    The response names the nearest key or the valid range.
    """
    change, tell = where
    before = peer.ask(tell).body
    answer = peer.ask(change, None, text)
    assert answer.code == REFUSED
    assert (answer.remark or "").startswith(remark)
    assert peer.ask(tell).body == before


@pytest.mark.parametrize(
    ("where", "names"),
    [
        (BROKER, ["brokerConfigPath", "rocketmqHome", "configBlackList"]),
        (NAME_SERVER, ["configBlackList", "configStorePath", "kvConfigPath", "rocketmqHome"]),
    ],
)
def test_what_is_on_the_black_list_is_not_changed(
    peer: Peer, where: tuple[RequestCode, RequestCode], names: list[str]
) -> None:
    """A change of a blacklisted key is rejected, and the other keys of the request are not applied."""
    before = peer.ask(where[1]).body
    for name in names:
        answer = peer.ask(where[0], None, f"{name}=/x\npopPollingSize=7\norderMessageEnable=true\n".encode())
        assert (answer.code, answer.remark) == (FORBIDDEN, "Can not update config in black list.")
    assert peer.ask(where[1]).body == before


@pytest.mark.parametrize("where", [BROKER, NAME_SERVER])
@pytest.mark.parametrize("text", [b"", b"\n", b"# popPolingSize=1\n! a comment, too\n"])
def test_no_key_is_no_error(peer: Peer, where: tuple[RequestCode, RequestCode], text: bytes) -> None:
    """A body without keys succeeds and changes nothing."""
    before = peer.ask(where[1]).body
    assert peer.ask(where[0], None, text).code == 0
    assert peer.ask(where[1]).body == before
