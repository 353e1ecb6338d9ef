"""Scenarios of one SDK on one target, run one at a time, as pytest does."""

from contextlib import ExitStack

from rocketmq_testkit.remoting.client.closeable import Closeable

from ..deployment.target import Target
from ..outcomes.outcome import Outcome
from ..outcomes.recorded_outcomes import RecordedOutcomes
from ..scenario import Scenario
from ..sdk.scenario_context import DriverProcesses
from .active_drivers import ActiveDrivers
from .plan import is_own
from .scenario_tasks import outcomes, ruled_out, run_scenario


class OneByOne(Closeable):
    """Runs scenarios of one SDK; those that can share a deployment and driver processes do so until `close`."""

    def __init__(self, sdk: str, target: Target, records: RecordedOutcomes) -> None:
        self._sdk = sdk
        self._target = target
        self._records = records
        self._active_drivers = ActiveDrivers()
        self._shared = ExitStack()
        self._drivers: DriverProcesses | None = None

    def run(self, scenario: Scenario) -> Outcome:
        """Run a scenario and return its outcome. Raises TargetError if the target does not start or died."""
        if is_own(scenario):
            [outcome] = outcomes(
                [scenario], [self._sdk], self._target, self._records, active_drivers=self._active_drivers
            )
            return outcome
        obstacle = ruled_out(scenario, self._sdk, self._target, self._records, active_drivers=self._active_drivers)
        if obstacle is not None:
            return obstacle
        if self._drivers is None:
            deployment = self._shared.enter_context(self._target.lend({}))
            self._drivers = self._shared.enter_context(self._active_drivers.drivers(self._sdk, deployment))
        return run_scenario(scenario, self._drivers.deployment, self._drivers, self._target, records=self._records)

    def close(self) -> None:
        """End the processes and return the deployment."""
        self._drivers = None
        self._shared.close()
