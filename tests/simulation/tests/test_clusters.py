"""Several brokers that stop and start, some with slaves, each checked by its own oracle.

SEEDS=n runs 0.3 n seeds (default 15) in blocks of twenty, FIRST_SEED=n begins with seed n, SEED=n runs only seed n.
"""

import os

import pytest
from cluster import DELETIONS_HERE, NAMES, OWN, Cluster, ClusterSetup, plan, report, run
from deleted_files import RETENTIONS
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from observations import Crashed, StepEnded
from simulation import FATES, MODES, NUMBERS, WEIGHTS, Action, Setup
from stored_messages import Violation
from test_crashes import WAITS, appears
from test_oracle import complaint
from test_simulation import FIRST, ONE, SEEDS

EXAMPLES = max(int(os.environ.get("EXAMPLES", "20")) // 3, 1)
BLOCK = 20
COUNT = max(SEEDS * 3 // 10, 1)
BLOCKS = [range(int(ONE), int(ONE) + 1)] if ONE else [range(n, n + BLOCK) for n in range(FIRST, FIRST + COUNT, BLOCK)]
HOUR = Action("advance", a=10)


@pytest.mark.parametrize("seeds", BLOCKS, ids=lambda seeds: f"{seeds[0]}-{seeds[-1]}")
def test_no_oracle_finds_a_violation_with_several_brokers(seeds: range) -> None:
    """No oracle finds a violation in any seed, and in the end every group has every message of each broker."""
    reports = [found for seed in seeds if (found := report(seed))]

    assert not reports, "\n\n".join(reports)


def test_the_first_seeds_use_every_verb_and_one_to_three_brokers() -> None:
    """The first seeds use every verb, one to three brokers, and brokers with and without slaves."""
    plans = [plan(seed) for seed in range(50)]

    assert {action.verb for _, actions in plans for action in actions} == {*WEIGHTS, *OWN, *DELETIONS_HERE}
    assert {one.retention for setup, _ in plans for one in setup.masters} == {"", *RETENTIONS}
    assert {len(setup.masters) for setup, _ in plans} == {1, 2, 3}
    assert {slaves for setup, _ in plans for slaves in setup.slaves} == {0, 1, 2}


def test_two_runs_of_a_seed_end_with_the_same_logs() -> None:
    first, second = run(*plan(3)), run(*plan(3))

    logs = [[list(broker.store.log.records_from(0)) for broker in one.engine.brokers] for one in (first, second)]
    assert logs[0] == logs[1]
    assert sum(map(len, logs[0])) > 100


@pytest.mark.parametrize("kill", [True, False], ids=["killed", "stopped gracefully"])
@pytest.mark.parametrize("what", WAITS)
def test_messages_due_while_a_broker_is_stopped_are_delivered_after_its_start(what: str, kill: bool) -> None:
    """Messages due while a broker is stopped are delivered after its start, and the oracle reports missing ones."""
    actions, topic = WAITS[what]
    cluster = Cluster(ClusterSetup((Setup(0), Setup(1)), (0, 0)), keep=True)
    for action in (*actions, Action("take down", a=0 if kill else 1), HOUR):
        cluster.perform(action)
    observations = cluster.masters[0].observations
    down = len(observations)
    cluster.perform(HOUR)
    assert len(observations) == down, "a stopped broker causes no observation"

    cluster.perform(Action("bring back"))
    for _ in range(100):
        cluster.perform(Action("advance"))

    assert isinstance(observations[down], Crashed)
    first = next(index for index, one in enumerate(observations) if index > down and appears(one, topic))
    setup = cluster.masters[0].setup
    assert complaint(setup, observations) == ""
    lost = [*observations[:first], *(one for one in observations[first:] if isinstance(one, StepEnded))]
    words = complaint(setup, lost)
    assert words.startswith(("lost by", "forgotten by")), words


def test_with_one_of_two_brokers_stopped_the_other_stores_all_messages() -> None:
    """With one of two brokers stopped the other stores all messages that may go to either; with both, no message."""
    cluster = Cluster(ClusterSetup((Setup(0), Setup(1)), (0, 0)))
    stored = [master.session.broker.store for master in cluster.masters]

    def ends() -> list[int]:
        return [sum(store.max_offset("A", queue_id) for queue_id in range(2)) for store in stored]

    cluster.perform(Action("take down", client=0))
    for _ in range(4):
        cluster.perform(Action("send anywhere", client=0))
    assert ends() == [0, 4]

    cluster.perform(Action("take down", client=1))
    cluster.perform(Action("send anywhere", client=0))
    assert ends() == [0, 4]


def _loses_a_record(cluster: Cluster) -> None:
    log = cluster.slaves[0].broker.store
    last = max(position for position, _ in log.log.records_from(0))
    log.truncate(last)


def _commits_an_offset(cluster: Cluster) -> None:
    cluster.slaves[0].broker.offsets.commit("pop-all", "A", 0, 1)


def _accepts_a_message(cluster: Cluster) -> None:
    slave = cluster.slaves[0].broker
    slave.store.is_slave = False
    slave.config.broker_role = "ASYNC_MASTER"


def _deletes_without_a_request(cluster: Cluster) -> None:
    cluster.slaves[0].broker.store.log.drop_oldest(1)


def _loses_the_first_message_of_a_queue(cluster: Cluster) -> None:
    queue = cluster.slaves[0].broker.store.queues["A", 0]
    queue.trim(queue.physical[1])


def _deletes_a_young_file(cluster: Cluster) -> None:
    cluster.slaves[0].delete_files()
    _deletes_without_a_request(cluster)


WRONG = {
    "loses a record": (_loses_a_record, "ends at"),
    "commits an offset": (_commits_an_offset, "never was there"),
    "accepts a message": (_accepts_a_message, "answers SendResult"),
    "deletes without a request": (_deletes_without_a_request, "deletion without a request"),
    "deletes a young file": (_deletes_a_young_file, "deletion of a message stored at"),
    "loses the first message of a queue": (_loses_the_first_message_of_a_queue, "begins at 1"),
}
"""Each wrong act of a slave, with its function and a part of the error."""


@pytest.mark.parametrize("act", WRONG)
def test_a_violation_of_a_slave_is_reported(act: str) -> None:
    """A slave that loses a record, commits offsets, accepts messages or deletes too much is reported."""
    do_wrong, words = WRONG[act]
    cluster = Cluster(ClusterSetup((Setup(0, retention="on request, after an hour"),), (1,)))
    cluster.perform(Action("burst"))
    cluster.perform(Action("fill", a=4))

    do_wrong(cluster)
    with pytest.raises(Violation, match=words):
        cluster.perform(Action("send to slave"))


def test_slaves_delete_files_independently_of_their_masters() -> None:
    """Slaves delete files, their logs start elsewhere than their masters', and some can no longer replicate."""
    clusters = [run(*plan(seed)) for seed in range(1, 61, 6)]
    slaves = [slave for cluster in clusters for slave in cluster.slaves]

    assert sum(slave.broker.store.log.min_offset > 0 for slave in slaves) > 2
    assert any(not slave.connected for slave in slaves)
    assert sum(slave.apart != 0 for slave in slaves) > 1


NUMBER = st.integers(0, NUMBERS - 1)
FATE = st.sampled_from(FATES)
MODE, RETENTION = st.sampled_from(tuple(MODES)), st.sampled_from(("", *RETENTIONS))
AT_CLIENTS = tuple(verb for verb in WEIGHTS if verb not in OWN)
FALLS = tuple(verb for verb in OWN if verb not in ("advance", "send anywhere"))


class Brokers(RuleBasedStateMachine):
    """Brokers and their clients; the oracles check every step, and once more after everything was consumed."""

    def __init__(self) -> None:
        super().__init__()
        self.cluster: Cluster | None = None

    @initialize(
        seed=st.integers(0, 99),
        masters=st.lists(st.tuples(MODE, RETENTION, st.integers(0, 2)), min_size=1, max_size=len(NAMES)),
    )
    def start(self, seed: int, masters: list[tuple[str, str, int]]) -> None:
        """Start one to three masters with up to two slaves each, with several pop modes and retentions."""
        setups = tuple(Setup(seed, mode=mode, retention=retention) for mode, retention, _ in masters)
        self.cluster = Cluster(ClusterSetup(setups, tuple(slaves for _, _, slaves in masters)))

    def _perform(self, *action: object) -> None:
        assert self.cluster is not None
        self.cluster.perform(Action(*action))  # type: ignore[arg-type]  # drawn by the types of the fields

    @rule(verb=st.sampled_from(AT_CLIENTS), client=NUMBER, a=NUMBER, b=NUMBER, c=NUMBER, d=NUMBER, fate=FATE)
    def use(self, verb: str, client: int, a: int, b: int, *, c: int, d: int, fate: str) -> None:
        """Send a client's request to one broker."""
        self._perform(verb, client, a, b, c, d, fate)

    @rule(client=NUMBER, a=NUMBER, b=NUMBER, c=NUMBER, d=NUMBER)
    def send(self, client: int, a: int, b: int, c: int, *, d: int) -> None:
        """Send a message to a running broker."""
        self._perform("send anywhere", client, a, b, c, d)

    @rule(verb=st.sampled_from(FALLS), client=NUMBER, a=NUMBER, b=NUMBER, c=NUMBER)
    def disturb(self, verb: str, client: int, a: int, b: int, *, c: int) -> None:
        """Crash, stop or start a broker, or use a slave."""
        self._perform(verb, client, a, b, c)

    @rule(verb=st.sampled_from(tuple(DELETIONS_HERE)), client=NUMBER, a=NUMBER)
    def delete(self, verb: str, client: int, a: int) -> None:
        """Fill or delete log files."""
        self._perform(verb, client, a)

    @rule(a=NUMBER)
    def advance(self, a: int) -> None:
        """Advance the time."""
        self._perform("advance", 0, a)

    def teardown(self) -> None:
        """Start all brokers, and consume until no message is left."""
        if self.cluster is not None:
            self.cluster.drain()
            assert self.cluster.leaks() == []


Brokers.TestCase.settings = settings(
    max_examples=EXAMPLES,
    stateful_step_count=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
TestBrokers = Brokers.TestCase
