"""Runs scenarios against an emulator in another process. `docker/check.py` starts it in the network of the sidecar.

Addresses come from the environment. The exit code is 1 if an outcome differs from the one recorded from a real broker.
The control port advances the clock, so that no scenario waits.
"""

import os
import sys

from rocketmq_testkit.conformance.deployment.target import Access
from rocketmq_testkit.conformance.discovery import all_scenarios
from rocketmq_testkit.conformance.outcomes.outcome import Verdict
from rocketmq_testkit.conformance.outcomes.recorded_outcomes import RecordedOutcomes
from rocketmq_testkit.conformance.runner.active_drivers import ActiveDrivers
from rocketmq_testkit.conformance.runner.scenario_tasks import scenario_tasks
from rocketmq_testkit.conformance.targets.address import AddressTarget
from rocketmq_testkit.conformance.targets.control import ControlledTarget

SDKS = ("python", "java-grpc", "java-remoting-4.9")
SCENARIOS = ("plain.a_simple_consumer_gets_each_message_once", "plain.a_concurrent_consumer_gets_each_message_once")


def main() -> int:
    """Run the scenarios and return the exit code."""
    access = Access(os.environ["ROCKETMQ_NAMESRV"], os.environ["ROCKETMQ_ENDPOINT"])
    target = ControlledTarget(AddressTarget("sidecar", access), os.environ["ROCKETMQ_CONTROL"])
    scenarios = [scenario for scenario in all_scenarios() if scenario.id in SCENARIOS]
    failed = []
    same = 0
    for task in scenario_tasks(scenarios, SDKS, target, RecordedOutcomes(), active_drivers=ActiveDrivers()).common:
        for outcome in task():
            same += outcome.verdict is Verdict.SAME
            if not outcome.expected:
                failed.append(f"{outcome.id}: {outcome.verdict.value} {outcome.reason} {outcome.notes}")
    print(f"{same} scenarios as recorded", *failed, sep="\n", file=sys.stderr)
    # Each SDK has at least one of the two ways to consume.
    return 0 if same >= len(SDKS) and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
