"""Driver processes, tested with a fake driver that needs no SDK and no broker."""

import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from rocketmq_testkit.conformance.drivers.process import Driver, DriverError, DriverFailure

FAKE = [sys.executable, "-u", str(Path(__file__).parent / "fake_driver.py")]


@pytest.fixture
def driver() -> Iterator[Driver]:
    with Driver("fake", FAKE) as driver:
        yield driver


def test_a_command_is_answered_with_its_own_reply(driver: Driver) -> None:
    """A reply belongs to the command whose number `i` it repeats, in any order of replies.

    The driver's `hello` is command 1. The fake driver replies to `release` first, then to the held commands, the last
    one first.
    """
    first, second = driver.post("hold"), driver.post("hold")
    third = driver.call("release")
    assert [driver.result(first)["i"], driver.result(second)["i"], third["i"]] == [2, 3, 4]


def test_capabilities_of_a_driver_are_those_of_its_hello(driver: Driver) -> None:
    """Verbs, modes and outcomes of a driver are those of its reply to `hello`."""
    assert driver.verbs == {"hello", "exit"}
    assert driver.modes == {"pop"}
    assert driver.outcomes == {"throw"}


def test_keywords_and_bytes_are_encoded_for_the_protocol(driver: Driver) -> None:
    """A trailing underscore of a keyword is removed, bytes become base64, None and text stay unchanged."""
    reply = driver.call("echo", as_="p", body=b"\x00\xff", messages=[{"body": b"hi", "tag": None}], text="grün")
    command = {name: value for name, value in reply["command"].items() if name != "i"}
    assert command == {
        "do": "echo",
        "as": "p",
        "body": "AP8=",
        "messages": [{"body": "aGk=", "tag": None}],
        "text": "grün",
    }


def test_a_rejected_command_raises_an_error_with_kind_code_and_text(driver: Driver) -> None:
    """A rejected command raises DriverError with kind, code and text; the driver continues."""
    with pytest.raises(DriverError, match="fake answered 'refuse' with BadRequestException") as caught:
        driver.call("refuse")
    assert (caught.value.kind, caught.value.code, caught.value.err) == ("BadRequestException", 40011, "too small")
    assert driver.call("echo")["ok"]


def test_a_missing_reply_is_reported_with_the_output(driver: Driver) -> None:
    """A missing reply raises DriverFailure with the output of the process."""
    driver.call("mutter")
    with pytest.raises(DriverFailure, match=r"did not answer 'hold' within 0\.2 s(.|\n)*on stdout: this is not JSON"):
        driver.call("hold", timeout=0.2)


def test_death_is_reported_with_exit_code_and_last_output(driver: Driver) -> None:
    """The death of a process fails all pending and later calls at once, with exit code and last output."""
    held = driver.post("hold")
    with pytest.raises(DriverFailure, match=r"exited before it answered 'die' \(exit code 7\)(.|\n)*the last words"):
        driver.call("die")
    with pytest.raises(DriverFailure, match="exit code 7"):
        driver.result(held)
    with pytest.raises(DriverFailure, match="exit code 7"):
        driver.call("echo")
    with pytest.raises(DriverFailure, match=r"ended \(0 events\)"):
        driver.wait_for_event(lambda event: True)


def test_events_are_kept_in_order_of_arrival_for_each_object(driver: Driver) -> None:
    """`events` returns all events in order of arrival, and `messages` the messages of one push consumer."""
    driver.call("event", of="a", count=2)
    driver.call("event", of="b", count=1)
    assert [(event["of"], event["t"]) for event in driver.events()] == [("a", 0), ("a", 1), ("b", 0)]
    assert [message["n"] for message in driver.messages("a")] == [0, 1]


def test_waiting_finds_earlier_and_later_events(driver: Driver) -> None:
    """wait_for_event accepts an earlier event as well as a later one."""
    driver.call("event", of="a", count=3)
    assert driver.wait_for_event(lambda event: event["t"] == 1)["msg"]["n"] == 1
    later = threading.Timer(0.1, driver.call, ["event"], {"of": "late", "count": 1})
    later.start()
    assert driver.wait_for_event(lambda event: event["of"] == "late", timeout=10)["t"] == 0
    later.join()


def test_waiting_for_a_missing_event_fails_after_the_timeout(driver: Driver) -> None:
    """wait_for_event raises DriverFailure with the number of events after the timeout."""
    driver.call("event", of="a", count=3)
    with pytest.raises(DriverFailure, match=r"did not send the expected event within 0\.1 s \(3 events\)"):
        driver.wait_for_event(lambda event: event["of"] == "b", timeout=0.1)


def test_every_process_has_its_own_home_which_is_removed_at_its_end() -> None:
    """Every process has a home of its own, which is removed with it."""
    with Driver("one", FAKE) as one, Driver("two", FAKE) as two:
        homes = {Path(driver.call("echo")["home"]) for driver in (one, two)}
        assert homes == {one.home, two.home}
        assert len(homes) == 2
        assert all(home.is_dir() for home in homes)
    assert not any(home.exists() for home in homes)


def test_a_home_of_the_caller_is_kept(tmp_path: Path) -> None:
    """A home given by the caller is used and kept."""
    with Driver("fake", FAKE, home=tmp_path) as driver:
        assert driver.call("echo")["home"] == str(tmp_path)
    assert tmp_path.is_dir()


def test_a_process_that_does_not_exit_is_killed() -> None:
    """close() gives the process two seconds for `exit`, then kills it; a second close() is a no-op."""
    driver = Driver("stubborn", [*FAKE, "--stubborn"])
    assert driver.hello["arguments"] == ["--stubborn"]
    begin = time.monotonic()
    driver.close()
    assert 1.9 < time.monotonic() - begin < 10
    driver.close()
    with pytest.raises(DriverFailure, match="exit code -9"):
        driver.call("echo")


def test_a_failed_start_is_reported_with_exit_code_and_output() -> None:
    """A process that fails at start raises DriverFailure with its exit code and output."""
    with (
        Driver("broken", [*FAKE, "--broken"]) as driver,
        pytest.raises(DriverFailure, match=r"exit code 3(.|\n)*no configuration found"),
    ):
        assert driver.hello


def test_a_missing_executable_is_reported_by_name(tmp_path: Path) -> None:
    """A missing executable raises DriverFailure with its name."""
    with pytest.raises(DriverFailure, match=r"the ghost driver cannot be started: .*/ghost: No such file"):
        Driver("ghost", [str(tmp_path / "ghost")])
