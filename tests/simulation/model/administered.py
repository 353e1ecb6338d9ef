"""A model of everything that administrators change: topics and groups, offsets, users, routes, and configuration.

The topics of this model are apart from those of the oracle, because administrators delete and create them again. After
the deletion of a topic the model forgets its messages, its offsets and its receipts.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from rocketmq_testkit.emulator.operations.groups import GroupConfig
from rocketmq_testkit.emulator.operations.topics import TopicConfig
from stored_messages import Violation

PLAIN_TOPICS, STATIC_TOPIC = ("side-0", "side-1"), "side-static"
SIDE_TOPICS = (*PLAIN_TOPICS, STATIC_TOPIC)
PULLERS, POPPERS = ("side-pull-0", "side-pull-1"), "side-pop"
"""The groups that pull these topics, and the group that pops them."""
SIDE_GROUPS = (*PULLERS, POPPERS)
Key = tuple[str, str, int]
"""A group with a queue: group, topic and queue id."""
Offsets = dict[Key, int]
FLUSH_MS = 10_000
"""Longest time after which a broker writes its file of offsets: 10 s after its start, then each 5 s."""
Concerns = Callable[[Key], bool]
"""True for the offsets that a change concerns."""


@dataclass(kw_only=True)
class Administered:
    """The expected state of one broker and of the name server."""

    topics: dict[str, TopicConfig] = field(default_factory=dict)
    groups: dict[str, GroupConfig] = field(default_factory=dict)
    messages: dict[tuple[str, int], list[str]] = field(default_factory=lambda: defaultdict(list))
    """By topic and queue id, the bodies of the messages of topics that exist."""
    offsets: Offsets = field(default_factory=dict)
    resets: Offsets = field(default_factory=dict)
    """Resets that take effect with the next pull of the queue. The deletion of a topic keeps them."""
    outlived: set[Key] = field(default_factory=set)
    """Resets whose topic was deleted since: a new topic with its name may end before them."""
    forbidden: dict[str, set[str]] = field(default_factory=dict)
    allowed: dict[str, set[str]] = field(default_factory=dict)
    """Forbidden topics that were allowed since the last known write of the groups: a crash may forbid them again.

    Other groups of the broker may have been written meanwhile. Source: SubscriptionGroupManager.updateForbiddenValue
    (5.3.3), which writes no file then.
    """
    modes: dict[tuple[str, str], tuple[str, int]] = field(default_factory=dict)
    users: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    """Password, type and status, by name."""
    acls: dict[str, dict[str, tuple[tuple[str, ...], str]]] = field(default_factory=dict)
    """By user and resource, the actions and the decision."""
    values: dict[str, dict[str, str]] = field(default_factory=dict)
    """Values of the name server, by namespace and key."""
    settings: dict[str, str] = field(default_factory=dict)
    """Changed keys of the broker."""
    namesrv_settings: dict[str, str] = field(default_factory=dict)
    thresholds: dict[str, int] = field(default_factory=dict)
    """Numbers of cold bytes that groups may read."""
    routes: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    """Read queues, write queues and permission of the topics that have a route."""
    hidden: dict[str, int] = field(default_factory=dict)
    """Topics without route until the broker registers again, with that time (ms)."""
    unacknowledged: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """By topic, the messages that the group that pops has not acknowledged."""
    taken: Counter[str] = field(default_factory=Counter)
    """Numbers of deliveries to this group, by message."""
    done: set[str] = field(default_factory=set)
    """Messages acknowledged in time after their only delivery, which are never redelivered."""
    undecided: set[str] = field(default_factory=set)
    """Messages that a crash or a deletion of the group may deliver again, even after an acknowledgement."""
    left_over: set[str] = field(default_factory=set)
    """Messages of deleted topics whose pop retry topic stays, because their group had no offsets at the deletion."""
    deleted: dict[str, int] = field(default_factory=dict)
    """Topics that were deleted, with the time of the last deletion (ms). Old check points redeliver new messages."""
    outdated: set[str] = field(default_factory=set)
    """Topics to which a crash soon after their deletion restored the offsets: groups may be beyond the end of a queue.

    Source: ConsumerOffsetManager.cleanOffsetByTopic, which writes no file (5.3.3).
    """
    passed_over: set[str] = field(default_factory=set)
    """Topics deleted after pops whose check points may still be in the merge buffer, or which had KV records.

    A check point in the buffer advances the offset in a new topic with that name, so that pops pass over its messages.
    With KV records, the pull offset of the deleted topic does so.
    Source: PopBufferMergeService.commitOffset, PopConsumerService.getPopOffset (5.3.3).
    """
    written: Offsets = field(default_factory=dict)
    """Offsets as of the time up to which `moves` are complete."""
    moves: list[tuple[int, Key, int | None]] = field(default_factory=list)
    """Changes of offsets: time (ms), group with queue, and the new offset."""

    # topics

    def put_topic(self, config: TopicConfig, attributes: dict[str, str] | None = None) -> None:
        """Create or change a topic; its route is that of the new configuration."""
        name = config.topic_name
        kept = dict(self.topics[name].attributes) if name in self.topics else {}
        self.topics[name] = replace(config, attributes={**kept, **(attributes or {})})

    def register(self, name: str) -> None:
        """Register a created or changed topic with the name server."""
        config = self.topics[name]
        self.routes[name] = config.read_queue_nums, config.write_queue_nums, config.perm
        self.hidden.pop(name, None)

    def delete_topic(self, name: str, now: int, *, passes_over: bool) -> None:
        """Forget a topic with its messages, offsets and receipts. Its route stays.

        `passes_over` is True if the broker has a merge buffer of pops, or KV records of them.
        """
        if passes_over and self.taken.keys() & self.bodies(name):
            self.passed_over.add(name)
        self.topics.pop(name, None)
        self.deleted[name] = now
        for place in [place for place in self.messages if place[0] == name]:
            del self.messages[place]
        self.unacknowledged.pop(name, None)
        self._forget_committed(lambda key: key[1] == name, now)
        self.outlived.update(key for key in self.resets if key[1] == name)

    def _forget_committed(self, concerns: Concerns, now: int) -> None:
        for key in filter(concerns, list(self.offsets)):
            del self.offsets[key]
            self.moves.append((now, key, None))

    def clean_unused_topics(self) -> None:
        """Forget the messages of topics that do not exist."""
        for place in [place for place in self.messages if place[0] not in self.topics]:
            del self.messages[place]
            self.unacknowledged.pop(place[0], None)

    # groups

    def use_group(self, name: str) -> None:
        """Create a group with defaults if it does not exist, as its first request does."""
        self.groups.setdefault(name, GroupConfig(name))

    def revived(self, name: str) -> None:
        """Create a group as the redelivery of its messages in flight does.

        Source: PopReviveService.mergeAndRevive, SubscriptionGroupManager.findSubscriptionGroupConfig (5.3.3).
        """
        if self.taken:
            self.use_group(name)

    def delete_group(self, name: str, now: int, *, clean: bool) -> None:
        """Forget a group, and with `clean` its offsets."""
        self.allow(name)
        if self.groups.pop(name, None) is not None:
            self.allowed.clear()
        self._deliver_again()
        if clean:
            self.forget_committed(name, now)
            self.resets = {key: offset for key, offset in self.resets.items() if key[0] != name}

    def forbid(self, group: str, topic: str) -> None:
        """Forbid a group to read a topic."""
        self.forbidden.setdefault(group, set()).add(topic)
        self.allowed.clear()

    def allow(self, group: str) -> None:
        """Allow a group to read all topics."""
        topics = self.forbidden.pop(group, None)
        if topics is not None:
            self.allowed[group] = topics

    def forget_committed(self, group: str, now: int) -> None:
        """Forget the committed offsets of a group."""
        self._forget_committed(lambda key: key[0] == group, now)

    # offsets

    def commit(self, key: Key, offset: int, now: int) -> None:
        """Set a committed offset."""
        self.offsets[key] = offset
        self.moves.append((now, key, offset))

    def reset(self, key: Key, offset: int, now: int) -> None:
        """Reset an offset: at once for queries, and for the next pull of the queue."""
        self.resets[key] = offset
        self.outlived.discard(key)
        self.commit(key, offset, now)

    def clone(self, source: str, dest: str, topic: str, now: int) -> None:
        """Replace the offsets of a group by those of another one, which must have some."""
        found = {key[2]: offset for key, offset in self.offsets.items() if key[:2] == (source, topic)}
        if not found:
            return
        for key in [key for key in self.offsets if key[:2] == (dest, topic) and key[2] not in found]:
            del self.offsets[key]
            self.moves.append((now, key, None))
        for queue_id, offset in found.items():
            self.commit((dest, topic, queue_id), offset, now)

    def bodies(self, topic: str) -> set[str]:
        """Return the messages of a topic."""
        return {body for place, queue in self.messages.items() if place[0] == topic for body in queue}

    def took(self, topic: str, body: str) -> None:
        """Check a delivery to the group that pops. Raises Violation."""
        if body not in self.bodies(topic) | self.left_over:
            raise Violation(f"{body} is delivered from {topic}, which has no such message")
        if body in self.done:
            raise Violation(f"{body} of {topic} is delivered again after its acknowledgement")
        self.taken[body] += 1

    def acknowledged(self, topic: str, body: str, *, in_time: bool) -> None:
        """Note an acknowledgement; `in_time`: before the end of the invisible duration."""
        self.unacknowledged[topic].discard(body)
        if in_time and self.taken[body] == 1 and body not in self.undecided and topic not in self.deleted:
            self.done.add(body)

    def _deliver_again(self) -> None:
        """Allow that every message of the group that pops is delivered again."""
        self.undecided.update(self.taken)
        self.done.clear()

    def missing(self, topic: str | None = None) -> set[str]:
        """Return the messages of one or of all topics that the group that pops must still get."""
        topics = list(self.topics) if topic is None else [topic]
        topics = [name for name in topics if name not in self.outdated | self.passed_over]
        return {body for name in topics for body in self.unacknowledged.get(name, ())}

    # routes

    def set_perm(self, *, add: bool) -> None:
        """Restore or remove the write permission of all routes; restored, every topic can be read and written."""
        for name, (read, write, perm) in self.routes.items():
            if name not in self.hidden:
                self.routes[name] = read, write, 6 if add else perm & ~2

    def hide(self, name: str, until: int) -> None:
        """Delete a route until the broker registers its topic again."""
        self.routes.pop(name, None)
        self.hidden[name] = until

    def time_passed(self, now: int) -> None:
        """Register the topics whose routes were deleted before the last registration of the broker."""
        for name, until in list(self.hidden.items()):
            if until <= now:
                del self.hidden[name]
                if name in self.topics:
                    self.register(name)

    # starts of the broker

    def restarted(self, seen: Offsets, forbidden: Mapping[str, set[str]], now: int, *, crashed: bool) -> None:
        """Forget the state in memory, and check the offsets: a crash loses those of the last `FLUSH_MS`.

        `seen` and `forbidden` are the offsets and forbidden topics of the broker after the start.
        """
        if crashed:
            self.forbidden |= {name: topics for name, topics in self.allowed.items() if forbidden.get(name) == topics}
        self.allowed.clear()
        self.resets.clear()
        self._deliver_again()
        if crashed:
            self.outdated.update(name for name, when in self.deleted.items() if when >= now - FLUSH_MS)
        self.thresholds.clear()
        self.hidden.clear()
        self.routes = {
            name: (config.read_queue_nums, config.write_queue_nums, config.perm) for name, config in self.topics.items()
        }
        before, lately = dict(self.written), list[tuple[Key, int | None]]()
        for when, key, offset in self.moves:
            if when >= now - FLUSH_MS:
                lately.append((key, offset))
            elif offset is None:
                before.pop(key, None)
            else:
                before[key] = offset
        for key in {*before, *self.offsets, *seen}:
            possible = {self.offsets.get(key)}
            if crashed:
                possible |= {before.get(key), *(offset for one, offset in lately if one == key)}
            if seen.get(key) not in possible:
                raise Violation(f"at {now} {key} is at {seen.get(key)} after a start, possible are {possible}")
        self.offsets = dict(seen)
        self.written, self.moves = dict(seen), []
