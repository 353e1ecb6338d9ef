"""Inspection and control of running clients with Apache's own mqadmin."""

import re
from collections.abc import Iterator
from functools import partial
from typing import Protocol

import pytest
from rocketmq_testkit.conformance.drivers.mqadmin import mqadmin
from rocketmq_testkit.conformance.drivers.process import Addresses, Driver, body, start
from rocketmq_testkit.fixtures import Emulator

pytestmark = pytest.mark.sampled("tests")


class Server(Protocol):
    """The fixture of this folder as the tests use it."""

    @property
    def emulator(self) -> Emulator: ...

    def start(self, sdk: str) -> Driver: ...


def _is(text: str, event: object) -> bool:
    return isinstance(event, dict) and event.get("ev") == "msg" and body(event["msg"]) == text.encode()


def consume(driver: Driver, emulator: Emulator, name: str, *texts: str) -> None:
    """Let a consumer of the group with the topic's name consume and commit these messages."""
    topic = emulator.topic(name, queues=1)
    for text in texts:
        topic.send(text.encode())
    sub = {name: {"expr": "*", "type": "TAG"}}
    driver.call("push", as_="c", group=name, sub=sub, mode="concurrent", from_="first")
    for text in texts:
        driver.wait_for_event(partial(_is, text), timeout=30)
    emulator.clock.advance("1ms")  # the event precedes the listener's return


def client_of(namesrv: str, group: str) -> str:
    """Return the id of the only client of a group, as mqadmin prints it."""
    printed = mqadmin(namesrv, "consumerConnection", "-g", group)
    [client] = re.findall(r"^(\S+@\S+)\s+\S+:\d+\s+JAVA\s+V5_3_3\s*$", printed, re.MULTILINE)
    return str(client)


def test_consumer_status_prints_subscription_queues_and_stack_of_a_consumer(server: Server) -> None:
    """consumerStatus prints a consumer's subscription, queues and stack, and judges the rebalance of its group."""
    namesrv = server.emulator.namesrv
    with server.start("java-remoting") as driver:
        consume(driver, server.emulator, "adm-info", "one", "two")
        client = client_of(namesrv, "adm-info")
        printed = mqadmin(namesrv, "consumerStatus", "-g", "adm-info", "-i", client, "-s")
        assert re.search(r"^adm-info\s+\S*\s*\*\s*$|Topic: adm-info\s", printed, re.MULTILINE), printed
        assert "#Consumer jstack#" in printed
        assert "java.lang.Thread.run" in printed
        printed = mqadmin(namesrv, "consumerStatus", "-g", "adm-info")
        assert "Same subscription in the same group of consumer" in printed
        assert "Rebalance OK" in printed


def test_query_msg_by_id_lets_a_consumer_consume_a_message_again(server: Server) -> None:
    """queryMsgById lets a consumer consume an already consumed message again, and prints the result."""
    namesrv, emulator = server.emulator.namesrv, server.emulator
    with server.start("java-remoting") as driver:
        consume(driver, emulator, "adm-direct", "again")
        client = client_of(namesrv, "adm-direct")
        [message] = emulator.messages("adm-direct")
        words = ("-t", "adm-direct", "-g", "adm-direct", "-d", client, "-i", message.offset_message_id)
        printed = mqadmin(namesrv, "queryMsgById", *words)
        assert "consumeResult=CR_SUCCESS" in printed, printed
        driver.wait_for_event(partial(_is, "again"), timeout=30)


def test_producer_connection_prints_the_producers_of_a_group(server: Server) -> None:
    emulator = server.emulator
    emulator.topic("adm-pc")
    with server.start("java-remoting") as driver:
        driver.call("producer", as_="p", topics=["adm-pc"], group="adm-pc-producer")
        driver.call("send", on="p", topic="adm-pc", body=b"m")
        printed = mqadmin(emulator.namesrv, "producerConnection", "-g", "adm-pc-producer", "-t", "adm-pc")
        assert re.search(r"^0001\s+\S+@\S+\s+\S+:\d+\s+JAVA\s+V5_3_3\s*$", printed, re.MULTILINE), printed


@pytest.fixture(params=["true", "false"], ids=["by the broker", "by its consumers"])
def resetting(request: pytest.FixtureRequest) -> Iterator[Emulator]:
    """An emulator whose resets are executed by the broker, or by consumers."""
    with Emulator(config={"useServerSideResetOffset": request.param}) as emulator:
        yield emulator


def test_reset_offset_by_time_lets_a_running_consumer_consume_again(resetting: Emulator) -> None:
    """resetOffsetByTime lets a running consumer consume everything again."""
    namesrv = resetting.namesrv
    with start("java-remoting", Addresses(namesrv=namesrv, endpoint=resetting.endpoint)) as driver:
        consume(driver, resetting, "adm-reset", "one", "two")
        printed = mqadmin(namesrv, "resetOffsetByTime", "-g", "adm-reset", "-t", "adm-reset", "-s", "0")
        assert re.search(r"^broker-a\s+0\s+0\s*$", printed, re.MULTILINE), printed
        for text in ("one", "two"):
            driver.wait_for_event(partial(_is, text), timeout=60)


def test_mqadmin_sets_and_deletes_kv_config_and_order_configuration(server: Server) -> None:
    """updateKvConfig and deleteKvConfig set and delete a value, updateOrderConf the order configuration of a topic."""
    namesrv = server.emulator.namesrv
    place = ("-s", "adm-namespace", "-k", "adm-key")
    assert "success" in mqadmin(namesrv, "updateKvConfig", *place, "-v", "adm-value")
    assert "success" in mqadmin(namesrv, "deleteKvConfig", *place)
    assert "success" in mqadmin(namesrv, "updateOrderConf", "-t", "adm-order", "-m", "put", "-v", "broker-a:4")
    assert "orderConf=[broker-a:4]" in mqadmin(namesrv, "updateOrderConf", "-t", "adm-order", "-m", "get")
    assert "success" in mqadmin(namesrv, "updateOrderConf", "-t", "adm-order", "-m", "delete")
    assert "CODE: 22" in mqadmin(namesrv, "updateOrderConf", "-t", "adm-order", "-m", "get")


def test_clone_group_offset_copies_offsets_to_another_group(server: Server) -> None:
    namesrv, emulator = server.emulator.namesrv, server.emulator
    with server.start("java-remoting") as driver:
        consume(driver, emulator, "adm-clone", "one", "two")
        driver.call("close", on="c")
    emulator.group("adm-clone-copy")
    words = ("-s", "adm-clone", "-d", "adm-clone-copy", "-t", "adm-clone")
    assert "clone group offset success" in mqadmin(namesrv, "cloneGroupOffset", *words)
    offsets = emulator.run_on_loop(lambda host: dict(host.engine.brokers[0].offsets.committed))
    assert offsets["adm-clone-copy", "adm-clone"] == {0: 2}


def test_send_message_stores_a_message_and_consume_message_prints_it(server: Server) -> None:
    namesrv, emulator = server.emulator.namesrv, server.emulator
    emulator.topic("adm-msg", queues=1)
    assert "SEND_OK" in mqadmin(namesrv, "sendMessage", "-t", "adm-msg", "-p", "of-an-administrator", "-c", "A")
    printed = mqadmin(namesrv, "consumeMessage", "-t", "adm-msg", "-b", "broker-a", "-i", "0", "-o", "0", "-c", "1")
    assert "of-an-administrator" in printed, printed
