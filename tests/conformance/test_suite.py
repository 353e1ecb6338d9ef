"""The suite run by pytest from an installed package."""

import subprocess
import sys
from pathlib import Path

from rocketmq_testkit.fixtures import Emulator

PYTEST = Path(sys.executable).with_name("pytest")


def run(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    """Run the installed suite from another folder."""
    return subprocess.run(
        [PYTEST, "--pyargs", "rocketmq_testkit.conformance", "-p", "no:cacheprovider", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_each_scenario_is_a_test_with_the_id_of_its_outcome(tmp_path: Path) -> None:
    """Each scenario is a test with the id of its outcome; one that an SDK cannot express is skipped with its reason."""
    words = (
        "-k",
        "a_send_creates_an_unknown_topic_over_remoting_and_fails_over_grpc or "
        "two_lite_pull_consumers_share_messages_and_one_continues_alone",
        "-n",
        "2",
        "--dist",
        "loadgroup",
    )
    done = run(tmp_path, "--sdk", "python", "-v", "-rs", *words)
    assert done.returncode == 0, done.stdout
    assert "1 passed, 1 skipped" in done.stdout
    assert (
        "test_scenario[emulator-scenarios.topics.a_send_creates_an_unknown_topic_over_remoting_and_fails_over_grpc@python]"
        in done.stdout
    )
    assert "the SDK has no verb commit, no verb lite" in done.stdout


def test_a_scenario_that_differs_fails(tmp_path: Path) -> None:
    """The test of a scenario and an SDK fails if the outcome differs from the record."""
    with Emulator(profile="faithful", config={"autoCreateTopicEnable": "false"}) as emulator:
        target = f"namesrv={emulator.namesrv},endpoint={emulator.endpoint}"
        done = run(
            tmp_path,
            "--sdk",
            "go-remoting",
            "--target",
            target,
            "-k",
            "a_send_creates_an_unknown_topic_over_remoting_and_fails_over_grpc",
        )
    assert done.returncode == 1, done.stdout
    assert (
        "scenarios.topics.a_send_creates_an_unknown_topic_over_remoting_and_fails_over_grpc@go-remoting" in done.stdout
    )


def test_without_an_sdk_the_suite_has_only_cases(tmp_path: Path) -> None:
    """Without `--sdk` the suite has only cases, not even skipped scenarios."""
    done = run(tmp_path, "--collect-only", "-q")
    assert "::test_case[emulator-topics." in done.stdout
    assert "scenario" not in done.stdout


def test_an_unknown_sdk_is_refused(tmp_path: Path) -> None:
    """An unknown SDK is rejected by an error with its name."""
    done = run(tmp_path, "--sdk", "cobol", "-k", "topics")
    assert done.returncode != 0
    assert "--sdk=cobol: there is no such SDK; there are java-grpc, " in done.stdout + done.stderr
