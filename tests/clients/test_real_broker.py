"""Apache's own broker as a target: started from published jars, asked, and gone afterwards."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from rocketmq_testkit.conformance.targets.apache_target import ApacheTarget
from rocketmq_testkit.conformance.targets.target import TargetError
from rocketmq_testkit.conformance.worlds.remoting import Remoting

COMMAND = Path(sys.executable).with_name("rocketmq-conformance")
FEW = "limits.names_of_topics_have_few_characters or pop.a_popped_message_is_hidden"


@pytest.fixture(scope="module")
def real() -> Iterator[ApacheTarget]:
    with ApacheTarget("5.3.3") as target:
        yield target


def homes_of(pid: int) -> list[str]:
    """Folders of brokers that a run has started: those that its processes name on their command lines."""
    listed = subprocess.run(["ps", "-ww", "-e", "-o", "ppid=,args="], capture_output=True, text=True, check=True).stdout
    return [line for line in listed.splitlines() if line.split()[0] == str(pid) and "org.apache.rocketmq" in line]


def test_the_real_broker_does_what_is_recorded(real: ApacheTarget) -> None:
    """A few cases, as the command runs them against somebody's broker."""
    with real.lend({}) as place:
        target = f"namesrv={place.access.namesrv},endpoint={place.access.endpoint}"
        done = subprocess.run(
            [COMMAND, "run", "--target", target, "-k", FEW], capture_output=True, text=True, timeout=120, check=False
        )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 same" in done.stdout


def test_a_restarted_broker_keeps_its_messages(real: ApacheTarget) -> None:
    """It comes back on the same addresses with what was stored."""
    with real.lend({"popPollingSize": "7"}) as place:
        with Remoting(place, f"before{time.time_ns():x}") as t:
            topic = t.topic(queues=1)
            t.sent(topic, 3)
        place.restart()
        with Remoting(place, f"after{time.time_ns():x}") as t:
            assert [each.body for each in t.pull(topic, t.group()).messages] == [b"m0", b"m1", b"m2"]


def test_a_broker_that_does_not_start_says_why(real: ApacheTarget) -> None:
    """The error has the end of the log in it."""
    settings = {"messageDelayLevel": "nonsense", "storePathRootDir": "/proc/nowhere"}
    with (
        pytest.raises(TargetError, match=r"the proxy of Apache RocketMQ 5\.3\.3 ended") as problem,
        real.lend(settings),
    ):
        pass
    assert "java" in str(problem.value)


def test_an_interrupted_run_leaves_no_broker_behind() -> None:
    """Neither while the broker starts nor while it is asked: Ctrl-C stops what was started, and says what was found."""
    run = subprocess.Popen(
        [COMMAND, "run", "--target", "apache:5.3.3", "--jobs", "4", "-k", "pop or send"],
        stdout=subprocess.PIPE,
        text=True,
        # A background process of a shell ignores the signal; a terminal's does not.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        deadline = time.monotonic() + 60
        while not (started := homes_of(run.pid)) and time.monotonic() < deadline:
            time.sleep(0.1)  # a process of its own is waited for
        run.send_signal(signal.SIGINT)
        printed, _ = run.communicate(timeout=60)
    finally:
        run.kill()
    assert started
    assert run.returncode == 1
    assert "interrupted" in printed
    left = subprocess.run(["ps", "-ww", "-e", "-o", "args="], capture_output=True, text=True, check=True).stdout
    for line in started:
        assert line.split(None, 1)[1] not in left
