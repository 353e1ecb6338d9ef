"""Small Java applications with planted bugs: the exploration finds each one, and passes their repaired versions.

Each is a process with the published gRPC SDK. A crash kills it, and starts another one.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from explored_applications import Explored, explore, only_failed, require_passed
from java_application import CLASSES, JavaApplication, compile_application
from rocketmq_testkit import Emulator, faults
from served_emulator import served_emulator

APPLICATIONS = Path(__file__).with_name("java_applications")
SECONDS_MAX = 60.0
"""The longest time of the exploration of one application, on two cores."""
PLANS: Mapping[str, str] = {
    "acknowledge_first": "crash() is called before the first acknowledgement of order-1",
    "charge_twice": "the first acknowledgement of order-1 gets the response INTERNAL_SERVER_ERROR",
    "dedupe_window": "the first acknowledgement of order-1 gets the response INTERNAL_SERVER_ERROR, "
    "then the second acknowledgement of order-1 gets the response INTERNAL_SERVER_ERROR",
}
"""The smallest failing plan of each application."""


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the compiled application."""
    folder = tmp_path_factory.mktemp("classes")
    compile_application(folder)
    return folder


@pytest.fixture(scope="module")
def explored(classes: Path, tmp_path_factory: pytest.TempPathFactory) -> Sequence[Explored]:
    """The explorations of all applications, in processes of their own."""
    return explore(APPLICATIONS, tmp_path_factory.mktemp("exploration"), {CLASSES: str(classes)})


@pytest.mark.parametrize("application", PLANS)
def test_a_bug_of_a_java_application_is_found_with_its_smallest_plan(
    explored: Sequence[Explored], application: str
) -> None:
    found = only_failed(explored, application)

    print(f"{application}: {found.seconds:.1f} s")  # for `pytest -s`
    assert "Broken" in found.name
    assert found.plan == PLANS[application]
    assert found.seconds < SECONDS_MAX


@pytest.mark.parametrize("application", PLANS)
def test_the_repaired_java_application_passes_each_plan(explored: Sequence[Explored], application: str) -> None:
    require_passed(explored, application, "Repaired")


def test_a_java_bug_that_needs_two_faults_is_not_found_with_one(explored: Sequence[Explored]) -> None:
    require_passed(explored, "dedupe_window", "one_fault")


@pytest.fixture
def command() -> Iterator[Emulator]:
    """The emulator of a `rocketmq-emulator` process, with frozen time."""
    with served_emulator("--time", "frozen") as control, Emulator.connect(control) as emulator:
        emulator.topic("orders", queues=1)
        yield emulator


@pytest.mark.parametrize(
    ("application", "failures", "is_broken"),
    [
        ("charge-each-delivery", 1, True),
        ("charge-each-order", 1, False),
        ("remember-until-duplicate", 1, False),
        ("remember-until-duplicate", 2, True),
        ("remember", 2, False),
    ],
)
def test_failed_acknowledgements_of_a_plan_show_the_same_bug_on_the_command(
    command: Emulator, classes: Path, tmp_path: Path, application: str, *, failures: int, is_broken: bool
) -> None:
    """The faults of the smallest plans are a rule of the emulator. The repaired application survives them."""
    command.faults.add(faults.respond("INTERNAL_SERVER_ERROR", operation="AckMessage", times=failures))
    billing = JavaApplication(command, application, "billing", tmp_path, classes=classes)
    billing.start()
    command.topic("orders").send(b"two teas", keys=["order-1"])
    command.assert_no_loss("orders", group="billing", within="10m")
    billing.stop()

    assert (billing.orders != ["order-1"]) is is_broken


@pytest.mark.parametrize(
    ("application", "orders"), [("acknowledge-then-ship", []), ("ship-then-acknowledge", ["order-1"])]
)
def test_a_process_that_is_killed_before_its_acknowledgement_loses_the_order_on_the_command(
    command: Emulator, classes: Path, tmp_path: Path, application: str, *, orders: Sequence[str]
) -> None:
    """The rule holds the acknowledgement back until the process is killed. The repaired application ships first."""
    held = command.faults.add(faults.delay_request(duration="5s", operation="AckMessage", times=1))
    shipping = JavaApplication(command, application, "shipping", tmp_path, classes=classes)
    shipping.start()
    command.topic("orders").send(b"two teas", keys=["order-1"])
    command.clock.advance_until(lambda: held.fired == 1, limit="1m")
    shipping.crash()
    command.assert_no_loss("orders", group="shipping", within="10m")
    shipping.stop()

    assert shipping.orders == orders
