"""Audit of a journal in memory, without Spark: counts the facts of each message for each group, event by event.

The verdicts follow from the facts by `rules.py`, as in the Spark job.
"""

import operator
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field

from .events import (
    LAST,
    MAKES_VISIBLE,
    OF_MESSAGES,
    RANK,
    RELEASES,
    RESERVES,
    SETTLES,
    Event,
    EventKind,
    JournalError,
    wanted_tags,
)
from .rules import FAILURES, VERDICTS, AuditRules, DeliveryFacts, in_time, judge, too_soon

AccountId = tuple[str, str, str]
"""Topic, group and message id, which identify an account of a recording."""


@dataclass(slots=True)
class Account:
    """The fate of one message for one group. `key` is its message group, or else its keys."""

    run_id: str
    topic: str
    group: str
    message_id: str
    _: KW_ONLY
    key: str | None
    facts: DeliveryFacts
    events: Sequence[Event]
    verdicts: frozenset[str] = frozenset()

    def story(self) -> str:
        """Describe the account, with one line per event."""
        said = ", ".join(verdict for verdict in VERDICTS if verdict in self.verdicts) or "no problems"
        lines = [f"{self.message_id} of {self.topic} for {self.group}: {said}"]
        lines += [f"    {event.ts_us / 1e6:.6f} {event.kind}" for event in self.events]
        return "\n".join(lines)


@dataclass(slots=True)
class Audit:
    """The accounts of a journal, by recording, topic, group and message."""

    accounts: list[Account]

    def of(self, verdict: str) -> list[Account]:
        """Return the accounts with a verdict. Raises ValueError for an unknown verdict."""
        if verdict not in VERDICTS:
            raise ValueError(f"there is no verdict {verdict!r}; there are {', '.join(VERDICTS)}")
        return [account for account in self.accounts if verdict in account.verdicts]

    def counts(self) -> Counter[str]:
        """Return the number of accounts with each verdict."""
        return Counter(verdict for account in self.accounts for verdict in account.verdicts)

    def assert_none(self, *verdicts: str) -> None:
        """Raise AssertionError if a message has one of these verdicts for a group.

        The text counts a message once for each group of its topic, and has the events of the first ten failures. The
        default verdicts are lost, duplicated, unexpected, out of order and early; a late delivery is accepted.
        """
        refused = verdicts or FAILURES
        found = {id(account): account for verdict in refused for account in self.of(verdict)}
        if found:
            counts = self.counts()
            said = ", ".join(f"{counts[verdict]} {verdict}" for verdict in refused if counts[verdict])
            stories = "\n".join(account.story() for account in [*found.values()][:10])
            raise AssertionError(f"of {len(self.accounts)} messages for groups: {said}\n{stories}")


def audit_events(events: Iterable[Event], rules: AuditRules | None = None) -> Audit:
    """Judge a journal by `rules`: by default a first delivery after 10 s is late, and all clocks agree.

    Raises JournalError if only some events of a recording have `seq`.
    """
    runs: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        runs[event.run_id].append(event)
    accounts: list[Account] = []
    for run_id in sorted(runs):
        accounts += _run(run_id, runs[run_id], rules or AuditRules())
    return Audit(accounts)


def place(event: Event) -> tuple[int, int, int, int]:
    """Return the sort key of events of one message; the order of events with equal keys does not matter."""
    reserved_until_us = event.reserved_until_us
    return (event.order, event.ts_us, RANK[event.kind], -1 if reserved_until_us is None else reserved_until_us)


@dataclass(slots=True)
class _Subscription:
    """Messages that a group wants from a topic: the union of its `subscribed` events.

    `tags` is None for all tags. The group wants messages from the position `from_order` on; None and -1 are the start.
    """

    tags: frozenset[str] | None = frozenset()
    from_order: int | None = None

    def add(self, event: Event) -> None:
        tags = wanted_tags(event.expression)
        self.tags = None if tags is None or self.tags is None else self.tags | tags
        start = event.order if event.consume_from == LAST else -1
        self.from_order = start if self.from_order is None else min(self.from_order, start)

    def wants(self, tag: str | None, order: int) -> bool:
        start = -1 if self.from_order is None else self.from_order
        return (self.tags is None or tag in self.tags) and order >= start


_ALL = _Subscription(None, -1)
"""The subscription of a group without a `subscribed` event."""


def _run(run_id: str, events: Sequence[Event], rules: AuditRules) -> list[Account]:
    numbered = sum(event.seq is not None for event in events)
    if numbered not in (0, len(events)):
        raise JournalError(
            f"run_id={run_id!r}: {numbered} of {len(events)} events have a seq; all must have one, or none"
        )
    end_us = max(event.ts_us for event in events) if rules.end_us is None else rules.end_us
    subscriptions: dict[tuple[str, str], _Subscription] = {}
    groups: dict[str, set[str]] = defaultdict(set)
    for event in events:
        if event.kind not in OF_MESSAGES:
            groups[event.topic].add(event.group or "")
        if event.kind is EventKind.SUBSCRIBED:
            subscriptions.setdefault((event.topic, event.group or ""), _Subscription()).add(event)
    events_by_account: dict[AccountId, list[Event]] = defaultdict(list)
    for event in events:
        if event.kind in OF_MESSAGES:
            for group in groups[event.topic]:
                events_by_account[event.topic, group, event.message_id or ""].append(event)
        elif event.kind is not EventKind.SUBSCRIBED:
            events_by_account[event.topic, event.group or "", event.message_id or ""].append(event)
    accounts = {}
    for account_id in sorted(events_by_account):
        life = sorted(events_by_account[account_id], key=place)
        subscription = subscriptions.get(account_id[:2], _ALL)
        accounts[account_id] = _account(run_id, account_id, life, end_us, subscription=subscription, rules=rules)
    _mark_overtaken(accounts)
    for account in accounts.values():
        # `judge` also works on columns of Spark, which are negated by another operator.
        found = judge(account.facts, rules, operator.not_)
        account.verdicts = frozenset(verdict for verdict, applies in found.items() if applies)
    return list(accounts.values())


@dataclass(slots=True)
class _State:
    """State of a message while its events are processed."""

    reserved_until_us: int | None = None
    settled: bool = False
    deliveries: int = 0
    duplicates: int = 0
    _: KW_ONLY
    redeliveries: int = 0
    retried: bool = False
    first_us: int = 0

    def delivered(self, event: Event, rules: AuditRules) -> None:
        self.deliveries += 1
        if self.settled or (
            self.reserved_until_us is not None and too_soon(event.ts_us, self.reserved_until_us, rules)
        ):
            self.duplicates += 1
        elif self.deliveries > 1:
            self.redeliveries += 1
        if self.deliveries == 1:
            self.first_us = event.ts_us


def _account(
    run_id: str,
    account_id: AccountId,
    life: Sequence[Event],
    end_us: int,
    *,
    subscription: _Subscription,
    rules: AuditRules,
) -> Account:
    state = _State()
    counts = Counter(event.kind for event in life)
    for event in life:
        if event.kind is EventKind.DELIVERED:
            state.delivered(event, rules)
        elif event.kind is EventKind.DEADLETTERED:
            state.settled = True
        elif event.kind is EventKind.ACKED:
            state.retried |= state.redeliveries > 0
            state.settled |= state.reserved_until_us is None or in_time(event.ts_us, state.reserved_until_us, rules)
        if event.kind in RESERVES or event.kind in RELEASES:
            state.reserved_until_us = event.reserved_until_us
    shown = [event for event in life if event.kind in MAKES_VISIBLE]
    facts = DeliveryFacts(
        times_stored=len(shown),
        failed_sends=counts[EventKind.SEND_FAILED],
        recalls=counts[EventKind.RECALLED],
        skips=counts[EventKind.SKIPPED],
        deliveries=state.deliveries,
        duplicates=state.duplicates,
        retried=state.retried,
        acks=counts[EventKind.ACKED],
        deaths=counts[EventKind.DEADLETTERED],
        wanted=subscription.wants(_least(life, "tags"), shown[0].order if shown else -1),
        visible_us=min((max(event.ts_us, event.deliver_at_us or 0) for event in shown), default=0),
        first_us=state.first_us,
        reserved_until_us=state.reserved_until_us or 0,
        end_us=end_us,
        overtaken=False,
    )
    topic, group, message_id = account_id
    message_key = _least(life, "message_group") or _least(life, "keys")
    return Account(run_id, topic, group, message_id, key=message_key, facts=facts, events=life)


def _least(life: Iterable[Event], name: str) -> str | None:
    """Return the smallest value that events give for a field in which they should agree."""
    return min((value for event in life if (value := getattr(event, name))), default=None)


@dataclass(slots=True)
class _Line:
    """Messages of one message group for one consumer group: highest delivered position, and waiting messages."""

    front: int = -1
    waiting: dict[AccountId, int] = field(default_factory=dict)
    """The value of `front` when the wait began, by message."""
    begun: set[AccountId] = field(default_factory=set)
    """Messages that were delivered at least once."""


def _mark_overtaken(accounts: Mapping[AccountId, Account]) -> None:
    """Set `overtaken` in the facts of messages that a later message of their message group has overtaken."""
    positions: dict[AccountId, int] = {}
    lines: dict[tuple[str, str, str], list[tuple[Event, AccountId]]] = defaultdict(list)
    for account_id, account in accounts.items():
        message_group = _least(account.events, "message_group")
        shown = [event.order for event in account.events if event.kind in MAKES_VISIBLE]
        if message_group is not None and shown:
            positions[account_id] = min(shown)
            lines[account_id[0], account_id[1], message_group] += [(event, account_id) for event in account.events]
    for moves in lines.values():
        line = _Line()
        for event, account_id in sorted(moves, key=_place_in_line):
            first = event.kind is EventKind.DELIVERED and account_id not in line.begun
            comes = event.kind is EventKind.DELIVERED or event.kind in SETTLES
            waited_since = line.waiting.pop(account_id, line.front) if comes else line.front
            if line.front > waited_since or (first and line.front > positions[account_id]):
                accounts[account_id].facts.overtaken = True
            if event.kind in RELEASES:
                line.waiting.setdefault(account_id, line.front)
            if first:
                line.begun.add(account_id)
                line.front = max(line.front, positions[account_id])
        for account_id, front in line.waiting.items():
            if line.front > front:
                accounts[account_id].facts.overtaken = True


def _place_in_line(move: tuple[Event, AccountId]) -> tuple[int, int, int, str, int]:
    order, ts_us, rank, reserved_until_us = place(move[0])
    return (order, ts_us, rank, move[1][2], reserved_until_us)
