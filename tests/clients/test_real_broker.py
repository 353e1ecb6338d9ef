"""Apache's own broker as a target: started from published jars, asked, and gone afterwards."""

import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from interrupted_run import COMMAND
from rocketmq_testkit.conformance.command import main
from rocketmq_testkit.conformance.targets.apache import ApacheBroker
from rocketmq_testkit.conformance.targets.apache_target import ApachePlace, ApacheTarget
from rocketmq_testkit.conformance.targets.choose import target as choose
from rocketmq_testkit.conformance.targets.target import TargetError
from rocketmq_testkit.conformance.worlds.remoting import Remoting
from rocketmq_testkit.remoting.request_code import RequestCode

FEW = "limits.names_of_topics_have_few_characters or pop.a_popped_message_is_hidden"
QUICK = "limits or tag or offsets or routes"
"""Cases that wait for nothing, more than fifty."""
ALONE = "timer_metrics.a_restart_keeps_the_counts"
NAMESRV, PROXY = "org.apache.rocketmq.namesrv.NamesrvStartup", "org.apache.rocketmq.proxy.ProxyStartup"


@pytest.fixture(scope="module")
def real() -> Iterator[ApacheTarget]:
    with ApacheTarget("5.3.3") as target:
        yield target


def at_address(broker: ApacheBroker) -> str:
    """The target of a broker that runs, as somebody else gives it."""
    return f"namesrv={broker.namesrv},endpoint={broker.endpoint}"


def is_alive(pid: int) -> bool:
    """Whether there is such a process."""
    return Path(f"/proc/{pid}").exists()


def keys_of(t: Remoting) -> dict[str, str]:
    """The configuration that a broker says it has."""
    lines = t.ask(RequestCode.GET_BROKER_CONFIG).body.decode().splitlines()
    return dict(line.partition("=")[::2] for line in lines)


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
    """It comes back on the same addresses with what was stored, and the one beside it did not notice."""
    with real.lend({}) as other, real.lend({"popPollingSize": "7"}) as place:
        assert isinstance(other, ApachePlace)
        assert isinstance(place, ApachePlace)
        beside = other.broker.pids
        assert not {*beside} & {*place.broker.pids}
        with Remoting(place, f"before{time.time_ns():x}") as t:
            topic = t.topic(queues=1)
            t.sent(topic, 3)
        place.restart()
        with Remoting(place, f"after{time.time_ns():x}") as t:
            assert [each.body for each in t.pull(topic, t.group()).messages] == [b"m0", b"m1", b"m2"]
        assert all(map(is_alive, [*beside, *place.broker.pids]))
        assert other.broker.pids == beside


def test_a_broker_has_the_keys_of_its_target_and_is_gone_afterwards() -> None:
    """Keys of the command line reach broker.conf; it listens on loopback; neither processes nor the home are left."""
    with choose("apache:5.3.3,popPollingSize=9") as target:
        with target.lend({}) as place, Remoting(place, f"keys{time.time_ns():x}") as t:
            assert isinstance(place, ApachePlace)
            keys = keys_of(t)
        broker = place.broker
        pids, home = broker.pids, broker.home
        assert (keys["popPollingSize"], keys["recallMessageEnable"]) == ("9", "true")
        assert keys["storePathRootDir"] == str(home / "store")
        listening = subprocess.run(["ss", "-Hltn"], capture_output=True, text=True, check=True).stdout
        for address in (broker.namesrv, broker.broker):
            port = address.rpartition(":")[2]
            assert set(re.findall(rf"(\S+):{port}\b", listening)) <= {"127.0.0.1", "[::ffff:127.0.0.1]"}, address
        assert home.is_dir()
        assert len(pids) == 2
        assert all(map(is_alive, pids))
    assert not any(map(is_alive, pids))
    assert not home.exists()


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


def test_jars_are_fetched_by_version(capsys: pytest.CaptureFixture[str]) -> None:
    """`build --apache` has them in its cache, whole, as the lock file has them."""
    assert main(["build", "--sdk", "python", "--apache", "5.3.3"]) == 0
    [_, line] = capsys.readouterr().out.splitlines()
    name, _, folder = line.partition(": ")
    assert name == "apache-5.3.3"
    assert (Path(folder) / "lib" / "rocketmq-broker-5.3.3.jar").is_file()
