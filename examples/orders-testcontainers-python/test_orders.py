"""Tests with the emulator in a container, whose ports Testcontainers maps to random ones."""

from collections.abc import Iterator

import pytest
from rocketmq import ClientConfiguration, Credentials, Message, Producer, SimpleConsumer
from rocketmq_testkit import Emulator
from rocketmq_testkit.remoting.client import RemotingClient
from rocketmq_testkit.remoting.request.request_code import RequestCode
from testcontainers.core.container import DockerContainer
from testcontainers.core.wait_strategies import HttpWaitStrategy

NAME_SERVER, BROKER, ENDPOINT, CONTROL = 9876, 10911, 8081, 8090


@pytest.fixture(scope="module")
def container() -> Iterator[DockerContainer]:
    """A container of the image `rocketmq-emulator`."""
    ports = (NAME_SERVER, BROKER, ENDPOINT, CONTROL)
    created = DockerContainer("rocketmq-emulator").with_command("--topic orders").with_exposed_ports(*ports)
    with created.waiting_for(HttpWaitStrategy(CONTROL, "/readyz")) as started:
        yield started


def address(container: DockerContainer, port: int) -> str:
    """Return the address at which this machine reaches a port of the container."""
    return f"{container.get_container_host_ip()}:{container.get_exposed_port(port)}"


@pytest.fixture(autouse=True)
def emulator(container: DockerContainer) -> Iterator[Emulator]:
    """The emulator of the container. Routes of both protocols name its mapped ports."""
    with Emulator.connect(f"http://{address(container, CONTROL)}") as found:
        found.reset()
        found.advertise("broker-a", address(container, BROKER))
        found.advertise("endpoint", address(container, ENDPOINT))
        yield found


def test_client_of_grpc_sends_and_receives(container: DockerContainer) -> None:
    configuration = ClientConfiguration(address(container, ENDPOINT), Credentials())
    producer = Producer(configuration, ("orders",))
    consumer = SimpleConsumer(configuration, "warehouse", await_duration=5)
    producer.startup()
    consumer.startup()
    try:
        consumer.subscribe("orders")
        order = Message()
        order.topic, order.body = "orders", b"two teas"
        producer.send(order)
        [received] = consumer.receive(1, 30)
        assert received.body == b"two teas"
        consumer.ack(received)
    finally:
        consumer.shutdown()
        producer.shutdown()


def test_client_of_remoting_gets_the_mapped_port_of_the_broker(container: DockerContainer) -> None:
    with RemotingClient(address(container, NAME_SERVER)) as client:
        route = client.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "orders"}).body.decode()
    assert address(container, BROKER).replace("localhost", "127.0.0.1") in route.replace("localhost", "127.0.0.1")
