"""One request of a simulated client."""

from collections.abc import Callable

from rocketmq_testkit.emulator.gate.gate import Outcome
from simulated_client import Client

OnAnswer = Callable[[Outcome, bool], None]


class SimulatedCall:
    """One request; its answer goes to `on_answer` with whether the request had to wait."""

    label = "simulated"

    def __init__(
        self, tell: "Callable[[SimulatedCall, Outcome], None]", number: int, client: Client, on_answer: OnAnswer
    ) -> None:
        self._tell = tell
        self.number = number
        self.channel = client.channel
        self.on_answer = on_answer
        self.answered = False

    @property
    def active(self) -> bool:
        """A call lives as long as its connection."""
        return self.channel.active

    def reply(self, outcome: Outcome) -> None:
        """Take the answer."""
        if self.answered or not self.active:
            raise AssertionError(f"an answer too many for call {self.number} of {self.channel.channel_id}: {outcome}")
        self.answered = True
        self._tell(self, outcome)
