"""Cold-read flow control: the byte limits of groups, stored and returned only, since no message here is cold.

Source: ColdDataCgCtrService (5.3.3), whose limits do not survive a restart of the broker either.
"""

from ..assembly.handlers import handles
from ..config import BrokerConfig
from ..gate.gate import Call
from ..kernel.java_numbers import parse_long
from ..operations.base import Done
from ..operations.tools import (
    ColdDataFlowCtrResult,
    GetColdDataFlowCtrInfo,
    RemoveColdDataFlowCtrConfig,
    UpdateColdDataFlowCtrConfig,
)


class ColdData:
    """The limits of groups in one run of a broker."""

    def __init__(self, config: BrokerConfig) -> None:
        self._config = config
        self._thresholds: dict[str, int] = {}

    @handles(UpdateColdDataFlowCtrConfig)
    def update(self, call: Call, operation: UpdateColdDataFlowCtrConfig) -> Done:
        """Set limits; ignore a value that is not a 64-bit number."""
        for group, text in operation.thresholds.items():
            try:
                self._thresholds[group] = parse_long(text)
            except ValueError:
                continue
        return Done()

    @handles(RemoveColdDataFlowCtrConfig)
    def remove(self, call: Call, operation: RemoveColdDataFlowCtrConfig) -> Done:
        """Delete the limit of a group; a missing one is not an error."""
        if operation.group is not None:
            self._thresholds.pop(operation.group, None)
        return Done()

    @handles(GetColdDataFlowCtrInfo)
    def info(self, call: Call, operation: GetColdDataFlowCtrInfo) -> ColdDataFlowCtrResult:
        """Return all limits."""
        config = self._config
        return ColdDataFlowCtrResult(
            dict(self._thresholds), config.cg_cold_read_threshold, config.global_cold_read_threshold
        )
