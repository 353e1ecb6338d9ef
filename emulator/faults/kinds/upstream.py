"""Faults that are defects of Apache RocketMQ itself."""

from ..cluster_control import ClusterControl, StandingFault
from ..fault import kind
from ..parameters import OneOf, parameter
from ..upstream_defects import UPSTREAM_DEFECTS
from .standing import STANDING, StandingKind, lasting


@kind(
    "upstream_defect",
    layer="upstream",
    phases=STANDING,
    situation="A defect of a published version of RocketMQ that the emulator does not have by default.",
)
class UpstreamDefectFault(StandingKind):
    """Give the emulator a defect of Apache RocketMQ that it does not have by default."""

    defect: str = parameter(OneOf(*UPSTREAM_DEFECTS), "name of the defect")
    duration: str | None = lasting()

    def begin(self, cluster: ClusterControl) -> StandingFault:
        """Switch the defect on."""
        return cluster.enable_defect(self.defect)
