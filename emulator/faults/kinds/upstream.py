"""Faults that are defects of Apache RocketMQ itself."""

from ..fault import Fault, kind
from ..parameters import OneOf, parameter
from ..phase import Phase
from ..upstream_defects import UPSTREAM_DEFECTS
from ..world import StandingFault, World


@kind(
    "upstream_defect",
    layer="upstream",
    phases=(Phase.STANDING,),
    situation="A defect of a published version of RocketMQ that the emulator does not have by default.",
)
class UpstreamDefectFault(Fault):
    """Give a rule of the emulator the defect that it has in Apache RocketMQ."""

    defect: str = parameter(OneOf(*UPSTREAM_DEFECTS), "the name of the defect")

    def start(self, world: World) -> StandingFault:
        """Switch the defect on."""
        return world.defects.enable(self.defect)
