"""How many bytes of cold messages groups may read. Nothing that is stored here is cold, so it is only kept and told.

Source: ColdDataCgCtrService (5.3.3), which forgets it with the broker's run, too.
"""

from ..config import BrokerConfig
from ..gate.gate import Call, Handlers
from ..kernel.java_numbers import parse_long
from ..operations import (
    ColdDataFlowCtrResult,
    Done,
    GetColdDataFlowCtrInfo,
    RemoveColdDataFlowCtrConfig,
    UpdateColdDataFlowCtrConfig,
)


class ColdData:
    """Limits of groups of one run of a broker."""

    def __init__(self, config: BrokerConfig) -> None:
        self._config = config
        self._thresholds: dict[str, int] = {}

    def handlers(self) -> Handlers:
        """Which operation is carried out by what."""
        return {
            UpdateColdDataFlowCtrConfig: self.update,
            RemoveColdDataFlowCtrConfig: self.remove,
            GetColdDataFlowCtrInfo: self.info,
        }

    def update(self, call: Call, operation: UpdateColdDataFlowCtrConfig) -> Done:
        """Set limits; what is no 64-bit number is left out."""
        for group, text in operation.thresholds.items():
            try:
                self._thresholds[group] = parse_long(text)
            except ValueError:
                continue
        return Done()

    def remove(self, call: Call, operation: RemoveColdDataFlowCtrConfig) -> Done:
        """Forget the limit of a group; that it has none is no error."""
        if operation.group is not None:
            self._thresholds.pop(operation.group, None)
        return Done()

    def info(self, call: Call, operation: GetColdDataFlowCtrInfo) -> ColdDataFlowCtrResult:
        """All limits."""
        config = self._config
        return ColdDataFlowCtrResult(
            dict(self._thresholds), config.cg_cold_read_threshold, config.global_cold_read_threshold
        )
