"""Driver processes, tried with a fake driver that needs no SDK and no broker."""

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
    """Replies are matched by number, whatever their order."""
    first, second = driver.post("hold"), driver.post("hold")
    third = driver.call("release")
    assert [driver.result(future)["i"] for future in (first, second)] == [first.result()["number"], third["i"] - 1]
    assert driver.result(first)["number"] < driver.result(second)["number"] < third["number"]


def test_hello_tells_what_a_driver_can_do(driver: Driver) -> None:
    """Verbs, modes and outcomes are those of the reply."""
    assert driver.verbs == {"hello", "exit"}
    assert driver.modes == {"pop"}
    assert driver.outcomes == {"throw"}


def test_keywords_and_bytes_are_sent_as_the_protocol_wants_them(driver: Driver) -> None:
    """A trailing underscore goes, bytes become base64 at any depth, None and text stay."""
    reply = driver.call("echo", as_="p", body=b"\x00\xff", messages=[{"body": b"hi", "tag": None}], text="grün")
    command = {name: value for name, value in reply["command"].items() if name != "i"}
    assert command == {
        "do": "echo",
        "as": "p",
        "body": "AP8=",
        "messages": [{"body": "aGk=", "tag": None}],
        "text": "grün",
    }


def test_a_refusal_is_an_error_with_its_parts(driver: Driver) -> None:
    """DriverError carries kind, code and text of the reply; the driver goes on."""
    with pytest.raises(DriverError, match="fake answered refuse with BadRequestException") as caught:
        driver.call("refuse")
    assert (caught.value.kind, caught.value.code, caught.value.err) == ("BadRequestException", 40011, "too small")
    assert driver.call("echo")["ok"]


def test_a_missing_reply_is_reported_with_the_output(driver: Driver) -> None:
    """A reply that does not come in time is a DriverFailure that shows what the process printed."""
    driver.call("mutter")
    with pytest.raises(DriverFailure, match=r"did not answer hold within 0\.2 s(.|\n)*on stdout: this is not JSON"):
        driver.call("hold", timeout=0.2)


def test_death_is_reported_with_exit_code_and_last_words(driver: Driver) -> None:
    """Whoever waits for a reply or an event of a process that dies is told so at once, and so is the next caller."""
    held = driver.post("hold")
    with pytest.raises(DriverFailure, match=r"ended before it answered die \(exit code 7\)(.|\n)*the last words"):
        driver.call("die")
    with pytest.raises(DriverFailure, match="exit code 7"):
        driver.result(held)
    with pytest.raises(DriverFailure, match="exit code 7"):
        driver.call("echo")
    with pytest.raises(DriverFailure, match=r"ended \(0 events\)"):
        driver.wait_for_event(lambda event: True)


def test_events_are_kept_in_order_and_by_object(driver: Driver) -> None:
    """Events of all objects are collected as they come; messages are those of one push consumer."""
    driver.call("event", of="a", count=2)
    driver.call("event", of="b", count=1)
    assert [(event["of"], event["t"]) for event in driver.events()] == [("a", 0), ("a", 1), ("b", 0)]
    assert [message["n"] for message in driver.messages("a")] == [0, 1]


def test_waiting_finds_past_and_coming_events(driver: Driver) -> None:
    """wait_for_event accepts an event that came before the call, and one that another thread's command brings."""
    driver.call("event", of="a", count=3)
    assert driver.wait_for_event(lambda event: event["t"] == 1)["msg"]["n"] == 1
    later = threading.Timer(0.1, driver.call, ["event"], {"of": "late", "count": 1})
    later.start()
    assert driver.wait_for_event(lambda event: event["of"] == "late", timeout=10)["t"] == 0
    later.join()


def test_an_event_that_never_comes_is_an_error(driver: Driver) -> None:
    """After the time given, DriverFailure tells how many events there were."""
    driver.call("event", of="a", count=3)
    with pytest.raises(DriverFailure, match=r"did not bring the awaited event within 0\.1 s \(3 events\)"):
        driver.wait_for_event(lambda event: event["of"] == "b", timeout=0.1)


def test_every_process_has_a_home_that_goes_with_it() -> None:
    """Two processes have two homes, and neither is left behind."""
    with Driver("one", FAKE) as one, Driver("two", FAKE) as two:
        homes = {Path(driver.call("echo")["home"]) for driver in (one, two)}
        assert homes == {one.home, two.home}
        assert len(homes) == 2
        assert all(home.is_dir() for home in homes)
    assert not any(home.exists() for home in homes)


def test_a_home_that_was_given_stays(tmp_path: Path) -> None:
    """The caller's own folder is used and kept."""
    with Driver("fake", FAKE, home=tmp_path) as driver:
        assert driver.call("echo")["home"] == str(tmp_path)
    assert tmp_path.is_dir()


def test_a_process_that_does_not_exit_is_killed() -> None:
    """close() gives two seconds for `exit`, then kills; a second close() does nothing."""
    driver = Driver("stubborn", [*FAKE, "--stubborn"])
    assert driver.hello["arguments"] == ["--stubborn"]
    begin = time.monotonic()
    driver.close()
    assert 1.9 < time.monotonic() - begin < 10
    driver.close()
    with pytest.raises(DriverFailure, match="exit code -9"):
        driver.call("echo")


def test_a_process_that_fails_at_start_tells_why() -> None:
    """The hello of a process that ends at once shows its exit code and what it printed."""
    with (
        Driver("broken", [*FAKE, "--broken"]) as driver,
        pytest.raises(DriverFailure, match=r"exit code 3(.|\n)*no configuration found"),
    ):
        assert driver.hello


def test_a_program_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    """A missing executable is a DriverFailure that names it."""
    with pytest.raises(DriverFailure, match=r"the ghost driver cannot be started: .*/ghost: No such file"):
        Driver("ghost", [str(tmp_path / "ghost")])
