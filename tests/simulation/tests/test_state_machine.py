"""The simulation's verbs as a Hypothesis state machine, which searches for violations and shortens them."""

import os

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from leak_check import leaks
from simulation import FATES, MODES, NUMBERS, WEIGHTS, Action, Setup, Simulation

EXAMPLES = int(os.environ.get("EXAMPLES", "20"))
STEPS = 60

NUMBER = st.integers(0, NUMBERS - 1)
FATE = st.sampled_from(FATES)
SENDING = ("send", "burst", "send timed", "prepare")
TAKING = ("pop", "pop in order", "pull", "notify")
HOLDING = ("ack", "ack again", "ack many", "ack forged", "hide", "send back", "give up", "take back", "end")
OTHER = tuple(verb for verb in WEIGHTS if verb not in (*SENDING, *TAKING, *HOLDING, "advance"))


class Broker(RuleBasedStateMachine):
    """A broker and its clients; the oracle checks every step, and once more after everything was consumed."""

    def __init__(self) -> None:
        super().__init__()
        self.simulation: Simulation | None = None

    @initialize(
        seed=st.integers(0, 99),
        retry_v2=st.booleans(),
        retry_first=st.sampled_from((20, 0, 100)),
        mode=st.sampled_from(tuple(MODES)),
    )
    def start(self, seed: int, retry_v2: bool, retry_first: int, mode: str) -> None:
        """Start a broker with upstream's defaults, or with other retry topics and modes of tracking popped messages."""
        self.simulation = Simulation(Setup(seed, retry_v2, retry_first, mode))

    def _perform(self, *action: object) -> None:
        assert self.simulation is not None
        self.simulation.perform(Action(*action))  # type: ignore[arg-type]  # drawn by the types of the fields

    @rule(verb=st.sampled_from(SENDING), a=NUMBER, b=NUMBER, c=NUMBER, d=NUMBER, fate=FATE)
    def send(self, verb: str, a: int, b: int, c: int, *, d: int, fate: str) -> None:
        """Send messages."""
        self._perform(verb, 0, a, b, c, d, fate)

    @rule(verb=st.sampled_from(TAKING), client=NUMBER, a=NUMBER, b=NUMBER, c=NUMBER, d=NUMBER, fate=FATE)
    def take(self, verb: str, client: int, a: int, b: int, *, c: int, d: int, fate: str) -> None:
        """Receive messages."""
        self._perform(verb, client, a, b, c, d, fate)

    @rule(verb=st.sampled_from(HOLDING), client=NUMBER, a=NUMBER, b=NUMBER, c=NUMBER, fate=FATE)
    def use(self, verb: str, client: int, a: int, b: int, *, c: int, fate: str) -> None:
        """Use received messages."""
        self._perform(verb, client, a, b, c, 0, fate)

    @rule(verb=st.sampled_from(OTHER), client=NUMBER, a=NUMBER, b=NUMBER, c=NUMBER)
    def other(self, verb: str, client: int, a: int, b: int, *, c: int) -> None:
        """Let a client join, leave, query or reset its group."""
        self._perform(verb, client, a, b, c)

    @rule(a=NUMBER)
    def advance(self, a: int) -> None:
        """Advance the time."""
        self._perform("advance", 0, a)

    def teardown(self) -> None:
        """Consume with all groups until no message is left."""
        if self.simulation is not None:
            self.simulation.drain()
            assert leaks(self.simulation.session) == []


Broker.TestCase.settings = settings(
    max_examples=EXAMPLES,
    stateful_step_count=STEPS,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
TestBroker = Broker.TestCase
