"""Apache's own broker as a target: start from published jars, requests, and complete removal."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from interrupted_run import COMMAND, Moment, interrupted
from rocketmq_testkit.conformance.command import main
from rocketmq_testkit.conformance.context.remoting import RemotingContext
from rocketmq_testkit.conformance.deployment.target import Deployment, TargetError
from rocketmq_testkit.conformance.discovery import all_cases
from rocketmq_testkit.conformance.outcomes.outcome import Outcome, Verdict
from rocketmq_testkit.conformance.outcomes.recorded_outcomes import RecordedOutcomes
from rocketmq_testkit.conformance.runner.run import carry_out
from rocketmq_testkit.conformance.targets.apache_target import ApacheDeployment, ApacheTarget
from rocketmq_testkit.conformance.targets.target_option import parse_target
from rocketmq_testkit.remoting.request.request_code import RequestCode

FEW = "limits.a_topic_name_with_an_illegal_character_is_refused or pop.a_popped_message_is_hidden"
QUICK = "errors. or tag. or sql_logic or sql_numbers or sql_texts or sql_grammar"
"""Sixty quick cases that share a broker."""
ALONE = "pop_crash.kv_records_that_left_the_cache_survive_a_crash"
"""A case that has its own broker for more than a minute."""
RETRYING = "retry.a_message_failed_twice_is_delivered_a_third_time"
"""A scenario that keeps its SDK busy for forty seconds."""
NAMESRV, PROXY = "org.apache.rocketmq.namesrv.NamesrvStartup", "org.apache.rocketmq.proxy.ProxyStartup"
DRIVER = "testkit.driver.remoting.Main"


@pytest.fixture(scope="module")
def real() -> Iterator[ApacheTarget]:
    with ApacheTarget("5.3.3") as target:
        yield target


def at_address(deployment: Deployment) -> str:
    """Return the target of a running broker by its addresses."""
    return f"namesrv={deployment.access.namesrv},endpoint={deployment.access.endpoint}"


def is_alive(pid: int) -> bool:
    """Return True if the process exists."""
    return Path(f"/proc/{pid}").exists()


def keys_of(t: RemotingContext) -> dict[str, str]:
    """Return the configuration of a broker."""
    lines = t.request(RequestCode.GET_BROKER_CONFIG).body.decode().splitlines()
    return dict(line.partition("=")[::2] for line in lines)


def test_a_real_broker_has_the_recorded_outcomes(real: ApacheTarget) -> None:
    """A real broker at an address has the recorded outcomes of a few cases."""
    with real.lend({}) as deployment:
        words = ["run", "--target", at_address(deployment), "-k", FEW]
        done = subprocess.run([COMMAND, *words], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 same" in done.stdout


def test_a_restarted_broker_keeps_its_messages(real: ApacheTarget) -> None:
    """A restarted broker has the same addresses and messages, and another broker is not affected."""
    with real.lend({}) as other, real.lend({"popPollingSize": "7"}) as deployment:
        assert isinstance(other, ApacheDeployment)
        assert isinstance(deployment, ApacheDeployment)
        beside = other.broker.pids
        assert not {*beside} & {*deployment.broker.pids}
        with RemotingContext(deployment, f"before{time.time_ns():x}") as t:
            topic = t.topic(queues=1)
            t.sent(topic, 3)
        deployment.restart()
        with RemotingContext(deployment, f"after{time.time_ns():x}") as t:
            assert [each.body for each in t.pull(topic, t.group()).messages] == [b"m0", b"m1", b"m2"]
        assert all(map(is_alive, [*beside, *deployment.broker.pids]))
        assert other.broker.pids == beside


def test_a_killed_broker_at_an_address_ends_the_run(real: ApacheTarget) -> None:
    """A killed broker ends the run: earlier outcomes are kept, no other case starts, and the reason is reported."""
    cases = [each for each in all_cases() if each.noun == "errors"]
    with real.lend({"popPollingSize": "7"}) as deployment:
        assert isinstance(deployment, ApacheDeployment)
        pid = deployment.broker.pids[1]
        seen: list[Outcome] = []

        def kill(outcome: Outcome) -> None:
            seen.append(outcome)
            if len(seen) == 3:
                os.kill(pid, signal.SIGKILL)
                os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)

        run = carry_out(cases, [parse_target(at_address(deployment))], RecordedOutcomes(), jobs=1, each=kill)
    assert [each.verdict for each in run.outcomes] == [Verdict.SAME] * 3
    assert run.problem.startswith(f"TargetError: endpoint={deployment.access.endpoint} cannot be reached")


def test_a_broker_has_the_keys_of_its_target_and_is_removed_afterwards() -> None:
    """A broker has the keys of its target and listens on loopback; its processes and home are removed afterwards."""
    with parse_target("apache:5.3.3,popPollingSize=9") as target:
        with target.lend({}) as deployment, RemotingContext(deployment, f"keys{time.time_ns():x}") as t:
            assert isinstance(deployment, ApacheDeployment)
            keys = keys_of(t)
        broker = deployment.broker
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


def test_a_broker_that_does_not_start_raises_target_error_with_its_log(real: ApacheTarget) -> None:
    """A broker that does not start raises an error with the end of its log."""
    settings = {"messageDelayLevel": "nonsense", "storePathRootDir": "/proc/nowhere"}
    with (
        pytest.raises(TargetError, match=r"the proxy of Apache RocketMQ 5\.3\.3 ended") as problem,
        real.lend(settings),
    ):
        pass
    assert "java" in str(problem.value)


@pytest.mark.parametrize("levels", ["1x", "1s  5s", "9223372036854775808s"])
def test_a_broker_does_not_start_with_unparsable_delay_levels(real: ApacheTarget, levels: str) -> None:
    """Like the emulator, a real broker does not start with unparsable delay levels.

    These have an unknown unit, a double blank, or a number above 64 bits.
    """
    with (
        pytest.raises(TargetError, match=r"the proxy of Apache RocketMQ 5\.3\.3 ended"),
        real.lend({"messageDelayLevel": levels}),
    ):
        pass


@pytest.mark.parametrize(
    "signals", [[signal.SIGINT], [signal.SIGTERM, signal.SIGTERM]], ids=["Ctrl-C", "SIGTERM twice"]
)
def test_a_run_interrupted_while_its_broker_starts_leaves_no_process_or_folder(
    tmp_path: Path, signals: list[signal.Signals]
) -> None:
    """A run that is interrupted while its broker starts leaves neither processes nor folders.

    A build server may send SIGTERM twice.
    """
    words = ["--target", "apache:5.3.3", "--jobs", "4", "-k", QUICK]
    left = interrupted(tmp_path, words, lambda now: any(NAMESRV in line for line in now.started), signals)
    assert left.code == 1
    assert "interrupted" in left.printed
    assert (left.processes, left.folders) == ([], [])


def test_a_run_interrupted_in_its_midst_leaves_nothing_and_keeps_its_outcomes(tmp_path: Path) -> None:
    """A run that is interrupted with two brokers and an SDK at work leaves nothing behind and keeps its outcomes.

    None of the outcomes is an error caused by the interruption.
    """

    def in_its_midst(now: Moment) -> bool:
        brokers = [line for line in now.started if PROXY in line]
        return "... 50 of" in now.printed and len(brokers) == 2 and any(DRIVER in line for line in now.started)

    selected = f"{QUICK} or {ALONE} or {RETRYING}"
    words = ["--target", "apache:5.3.3", "--jobs", "3", "--sdk", "java-remoting", "-k", selected]
    left = interrupted(tmp_path, words, in_its_midst)
    assert left.code == 1
    assert "interrupted; the outcomes up to then are shown" in left.printed
    found = re.search(r"^(\d+) outcomes in", left.printed, re.MULTILINE)
    assert found is not None, left.printed
    assert int(found[1]) >= 50
    assert "ERROR" not in left.printed
    assert (left.processes, left.folders) == ([], [])


def test_build_apache_downloads_the_jars_of_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    """`build --apache` downloads the jars of the lock file into the cache."""
    assert main(["build", "--sdk", "python", "--apache", "5.3.3"]) == 0
    [_, line] = capsys.readouterr().out.splitlines()
    name, _, folder = line.partition(": ")
    assert name == "apache-5.3.3"
    assert (Path(folder) / "lib" / "rocketmq-broker-5.3.3.jar").is_file()
