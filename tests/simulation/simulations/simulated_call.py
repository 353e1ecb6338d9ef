"""One request of a simulated client."""

from collections.abc import Callable

from rocketmq_testkit.emulator.gate.call import Outcome
from simulated_client import Client

OnAnswer = Callable[[Outcome, bool], None]


class SimulatedCall:
    """One request; `on_answer` is called with its response and True if it had to wait."""

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
        """True while the connection is open."""
        return self.channel.active

    def reply(self, outcome: Outcome) -> None:
        """Handle the response."""
        if self.answered or not self.active:
            raise AssertionError(f"a second response to call {self.number} of {self.channel.channel_id}: {outcome}")
        self.answered = True
        self._tell(self, outcome)
