"""Verdicts agree with later deliveries: a finished message is never delivered again, every other message is.

Random lists of sends, pops, acknowledgements, changes of the invisible duration, commits, crashes and restarts end at a
random point. There every message is explained for each group. The groups then receive and acknowledge everything, while
the clock advances beyond the last invisible duration. The deliveries show which verdicts were right, for each way in
which a broker stores the state of pops.
"""

from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import pytest
from engine_harness import EngineHarness, make_harness
from hypothesis import given, settings
from hypothesis import strategies as st
from inspected import look
from rocketmq_testkit.emulator.explanation.explain import Explainer
from rocketmq_testkit.emulator.explanation.explanation import Explanation
from rocketmq_testkit.emulator.explanation.reason import Reason
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.message.receipt import Receipt
from rocketmq_testkit.emulator.message.stored_record import property_map
from rocketmq_testkit.emulator.operations.consume import PullResult, PullStatus
from rocketmq_testkit.emulator.operations.offsets import ResetOffset, UpdateConsumerOffset

BUFFERED: dict[str, Any] = {"enable_pop_buffer_merge": True}
KV: dict[str, Any] = {"pop_consumer_kv_service_init": True, "pop_consumer_kv_service_enable": True}
CONFIGURATIONS: dict[str, tuple[dict[str, Any], bool]] = {
    "log": ({}, False),
    "buffer": (BUFFERED, False),
    "kv": (KV, False),
    "kv-cache": (KV | BUFFERED, False),
    "order": ({}, True),
    "order-kv": (KV, True),
    "no-record": ({"delivery_record_max_entries": 0, "journal_max_entries": 0}, False),
}
"""Keys of the broker, and True if the group pops in order."""
QUEUES = 2
INVISIBLE_MS = (1_000, 5_000, 20_000)
DRAIN_MS = 45_000
FINISHED = {
    Reason.ACKNOWLEDGED,
    Reason.FILTERED_BY_TAG,
    Reason.COMMITTED_PAST,
    Reason.RESET_PAST,
    Reason.STARTED_AT_END,
    Reason.LOST_IN_CRASH,
}
IN_FLIGHT = {Reason.IN_FLIGHT, Reason.INVISIBLE_AFTER_FAILURE, Reason.BEHIND_IN_ORDER}
EXPRESSIONS = {"G": "*", "F": "a"}
"""The popping groups, and the tags to which they subscribe. Group P pulls."""

Step = tuple[str, int, int]
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("send"), st.integers(1, 3), st.integers(0, QUEUES - 1)),
        st.tuples(st.sampled_from(["pop G", "pop F"]), st.integers(1, 4), st.sampled_from(INVISIBLE_MS)),
        st.tuples(st.just("ack"), st.integers(0, 50), st.just(0)),
        st.tuples(st.just("change"), st.integers(0, 50), st.sampled_from(INVISIBLE_MS)),
        st.tuples(st.just("pull"), st.integers(0, QUEUES - 1), st.integers(1, 4)),
        st.tuples(st.just("commit"), st.integers(0, QUEUES - 1), st.just(0)),
        st.tuples(st.just("advance"), st.sampled_from([1, 500, 2_000, 9_000]), st.just(0)),
        st.tuples(st.sampled_from(["reset G", "reset P"]), st.integers(0, QUEUES - 1), st.integers(0, 6)),
        st.tuples(st.sampled_from(["crash", "restart"]), st.just(0), st.just(0)),
    ),
    min_size=5,
    max_size=30,
)


@dataclass
class Story:
    """A broker with clients that pop, pull, acknowledge and commit."""

    harness: EngineHarness
    in_order: bool
    ids: list[str] = field(default_factory=list)
    held: list[tuple[str, str, Receipt]] = field(default_factory=list)
    """(message id, group, receipt) of popped messages, with the newest receipt of each."""
    _: KW_ONLY
    pulled: dict[int, int] = field(default_factory=dict)
    """The offset after the last pulled message, by queue."""
    was_down: bool = False

    def register(self) -> None:
        """Register a member of each group, as clients do again after a restart of the broker."""
        for group, expression in {**EXPRESSIONS, "P": "*"}.items():
            self.harness.heartbeat(f"client of {group}", group, {"A": expression})

    def play(self, steps: list[Step]) -> None:
        for name, first, second in steps:
            kind, _, group = name.partition(" ")
            getattr(self, f"_{kind}")(group, first, second)

    def _send(self, _group: str, count: int, queue: int) -> None:
        for _ in range(count):
            self.ids.append(f"7F0000010A2B18B4AAC2{len(self.ids):012X}")
            tag = "ab"[len(self.ids) % 2]
            self.harness.send("A", queue=queue, UNIQ_KEY=self.ids[-1], TAGS=tag)

    def _pop(self, group: str, count: int, invisible_ms: int) -> None:
        for message_id, receipt in self.pop(group, count, invisible_ms):
            self.held = [each for each in self.held if each[:2] != (message_id, group)]
            self.held.append((message_id, group, receipt))

    def pop(self, group: str, count: int, invisible_ms: int) -> list[tuple[str, Receipt]]:
        popped = self.harness.popped(
            "A",
            group=group,
            count=count,
            invisible_ms=invisible_ms,
            expression=EXPRESSIONS[group],
            order=self.in_order,
        )
        return [(property_map(each.record)["UNIQ_KEY"], self.harness.receipt(each)) for each in popped]

    def _ack(self, _group: str, which: int, _unused: int) -> None:
        if self.held:
            _, group, receipt = self.held.pop(which % len(self.held))
            self.harness.ack("A", receipt, group)

    def _change(self, _group: str, which: int, invisible_ms: int) -> None:
        if not self.held:
            return
        message_id, group, receipt = self.held[which % len(self.held)]
        if receipt.pop_time + receipt.invisible_ms > self.harness.now_ms and not self.in_order:
            try:
                changed = self.harness.change("A", receipt, invisible_ms, group)
            except EngineError:  # a crash lost the popped message
                return
            self.held[which % len(self.held)] = (message_id, group, changed)

    def _pull(self, _group: str, queue: int, count: int) -> None:
        outcome = self.harness.pull("A", self.pulled.get(queue, 0), queue=queue, group="P", count=count).outcome
        assert isinstance(outcome, PullResult)
        if outcome.offsets:
            self.pulled[queue] = outcome.offsets[-1] + 1

    def _commit(self, _group: str, queue: int, _unused: int) -> None:
        if queue in self.pulled:
            operation = UpdateConsumerOffset("P", "A", queue, self.pulled[queue])
            self.harness.engine.execute(self.harness.broker, operation)

    def _reset(self, group: str, queue: int, offset: int) -> None:
        """Reset an offset within the queue, as an administrator does."""
        end = self.harness.broker.store.max_offset("A", queue)
        self.harness.engine.execute(self.harness.broker, ResetOffset(group, "A", 0, queue, offset=min(offset, end)))
        if group == "P":
            self.pulled.pop(queue, None)

    def _advance(self, _group: str, ms: int, _unused: int) -> None:
        self.harness.advance(ms)

    def _crash(self, _group: str, _first: int, _second: int) -> None:
        self.harness.engine.crash(self.harness.broker)
        self.harness.advance(1)  # check points of the same instant before and after the crash would have equal keys
        self.register()
        self.was_down = True

    def _restart(self, _group: str, _first: int, _second: int) -> None:
        self.harness.engine.restart(self.harness.broker)
        self.register()
        self.was_down = True

    # the verdicts, and the future

    def verdicts(self) -> dict[tuple[str, str], Explanation]:
        found = look(self.harness)
        explainer = Explainer(found, self.harness.engine.history, lambda: self.harness.now_ms)
        verdicts = {}
        for message_id in self.ids:
            messages = found.find(message_id)
            message = messages[0] if messages else None
            for group in ("G", "F", "P"):
                verdicts[message_id, group] = explainer.explain(message, message_id, group, topic="A")
        return verdicts

    def future(self) -> dict[tuple[str, str], int]:
        """Receive and acknowledge everything; return the time of the first delivery by (message id, group)."""
        delivered: dict[tuple[str, str], int] = {}
        end_ms = self.harness.now_ms + DRAIN_MS
        while self.harness.now_ms < end_ms:
            for group in EXPRESSIONS:
                while popped := self.pop(group, 32, 60_000):
                    for message_id, receipt in popped:
                        delivered.setdefault((message_id, group), self.harness.now_ms)
                        self.harness.ack("A", receipt, group)
            self.harness.advance(2_000)
        for queue in range(QUEUES):
            committed = max(self.harness.broker.offsets.query("P", "A", queue), 0)
            outcome = self.harness.pull("A", committed, queue=queue, group="P").outcome
            assert isinstance(outcome, PullResult)
            if outcome.status is PullStatus.OFFSET_RESET:
                outcome = self.harness.pull("A", outcome.next_begin_offset, queue=queue, group="P").outcome
                assert isinstance(outcome, PullResult)
            for record in outcome.records:
                delivered[property_map(record)["UNIQ_KEY"], "P"] = self.harness.now_ms
        return delivered


def story(name: str) -> Story:
    """Return a story, not yet played, in which each group has a member."""
    keys, in_order = CONFIGURATIONS[name]
    harness = make_harness(**keys)
    harness.topic("A", QUEUES)
    played = Story(harness, in_order)
    played.register()
    return played


@pytest.mark.parametrize("name", CONFIGURATIONS)
@settings(max_examples=25, deadline=None, derandomize=True)
@given(steps=STEPS)
def test_finished_messages_are_not_delivered_again_and_all_others_are(name: str, steps: list[Step]) -> None:
    played = story(name)
    played.play(steps)
    verdicts, now_ms = played.verdicts(), played.harness.now_ms
    delivered = played.future()
    for place, verdict in verdicts.items():
        assert (verdict.reason in FINISHED) is (place not in delivered), (place, verdict, steps)
        # After a crash a message can be popped twice, and the end of the first pop redelivers it as well.
        if verdict.reason in IN_FLIGHT and verdict.until_ms is not None and not played.was_down:
            assert verdict.until_ms > now_ms
            assert delivered[place] >= verdict.until_ms, (verdict, steps)


def test_later_deliveries_reveal_a_wrong_verdict() -> None:
    """A message in flight is delivered again, so a verdict that calls it acknowledged would fail the test above."""
    played = story("log")
    played.play([("send", 1, 0), ("pop G", 1, 1_000)])
    (verdict,) = [each for (_, group), each in played.verdicts().items() if group == "G"]
    assert verdict.reason is Reason.IN_FLIGHT
    assert (played.ids[0], "G") in played.future()
