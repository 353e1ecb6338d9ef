"""An emulator for which the example of every verb works, and the state that the examples need."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rocketmq_testkit import faults
from rocketmq_testkit.conformance.clients.remoting_members import heartbeat_request
from rocketmq_testkit.emulator.operations.clients import ConsumerData, Heartbeat
from rocketmq_testkit.fixtures import Emulator
from rocketmq_testkit.fixtures.host.host import Host
from rocketmq_testkit.remoting.client import RemotingClient

AUTH = "org.apache.rocketmq.auth"
KEYS_OF_EXAMPLES = {
    "authenticationMetadataProvider": f"{AUTH}.authentication.provider.LocalAuthenticationMetadataProvider",
    "authorizationMetadataProvider": f"{AUTH}.authorization.provider.LocalAuthorizationMetadataProvider",
    "configBlackList": "popCkStayBufferTime",
}
TOKEN = "of-the-test"


@contextmanager
def emulator_of_examples(**options: Any) -> Iterator[Emulator]:
    """Run an emulator with the brokers and users of the examples; its control port needs `TOKEN`."""
    own: dict[str, Any] = {
        "brokers": 2,
        "slaves": 1,
        "topics": ["orders:FIFO"],
        "config": KEYS_OF_EXAMPLES,
        "control_token": TOKEN,
    }
    with Emulator(**own, **options) as running:
        yield running


def start_all_brokers(emulator: Emulator) -> None:
    """Start the brokers that an example has stopped."""
    for broker in emulator.broker_states:
        if not broker.running:
            emulator.start_broker(broker.name if broker.id == 0 else f"{broker.name}:{broker.id}")


def stop_all_forks(host: Host) -> None:
    """Stop the forks of an emulator. The next fork has the first id again."""
    host.forks.stop_all()
    del vars(host)["forks"]


def keep_one_search(host: Host) -> None:
    """Start a search of the clock. It has the first id, whatever searches there were."""
    vars(host._run).pop("jumps", None)
    host.jumps.keep_search("1d", None)


@contextmanager
def state_of_examples(emulator: Emulator) -> Iterator[None]:
    """Create the objects that the examples name: topics, groups, snapshots, a rule, and connected clients."""
    if "%DLQ%booking" not in emulator.topics:
        emulator.topic("%DLQ%booking").send(b"dead")
    heartbeat = Heartbeat("a-client", ["orders"], [ConsumerData("booking")])
    emulator.run_on_loop(lambda host: host.engine.execute(host.engine.brokers[0], heartbeat))
    emulator.run_on_loop(lambda host: vars(host).pop("kept_snapshots", None))
    emulator.run_on_loop(lambda host: [host.kept_snapshots.keep() for _ in range(2)])
    emulator.run_on_loop(stop_all_forks)
    emulator.fork()
    emulator.topic("orders", type="FIFO")
    emulator.topic("later", type="DELAY").send("tea", properties={"DELAY": "3"})
    emulator.run_on_loop(keep_one_search)
    emulator.topic("payments", type="TRANSACTION")
    emulator.group("warehouse")
    emulator.faults.clear()
    emulator.faults.add(faults.drop_response(), operation="SendMessage", name="slow-responses")
    with RemotingClient(emulator.broker) as client:
        assert client.request(*heartbeat_request("10.0.0.7@4711", producers=["shop"])).code == 0
        yield
