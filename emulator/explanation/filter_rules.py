"""Rules about subscriptions that do not match a message: by tag, by SQL, by one of several members that disagree."""

from ..filter.message_filter import EVERYTHING, SQL92, TAG, build_subscription
from ..filter.sql_filter import compile_sql
from ..filter.sql_reason import false_clause
from ..inspection.groups import MemberView, SubscriptionView
from ..inspection.messages import MessageWithCopies
from ..kernel.errors import SqlError
from ..kernel.value_class import frozen_view
from ..store.tags_code import tags_code_of
from . import changes
from .facts import Fact
from .reason import Reason
from .subject import Finding, Subject, fact


@frozen_view
class Mismatch:
    """The reason why a subscription does not match a message, and the clause that says so."""

    reason: Reason
    text: str
    fact: Fact


def skipped_by_filter(subject: Subject) -> Finding | None:
    """The group is past the message, and did not get it because of its subscription."""
    if not subject.is_passed or subject.is_retry:
        return None
    finding = _filtered(subject, "did not match") or _filtered_before(subject)
    if finding is None or (subject.deliveries and finding.reason is not Reason.TAG_HASH_COLLISION):
        return None
    return finding


def would_be_filtered(subject: Subject) -> Finding | None:
    """The group has yet to read the message, and its subscription does not match it."""
    return None if subject.is_retry else _filtered(subject, "does not match")


def _filtered(subject: Subject, verb: str) -> Finding | None:
    """Return the verdict about members that disagree, or about the subscription that the broker uses.

    If the broker has none, a member's own subscription counts.
    """
    group, topic = subject.consumer, subject.message.topic
    own = [(member, found) for member in group.members if (found := _of_topic(member.subscriptions, topic)) is not None]
    used = _of_topic(group.subscriptions, topic)
    if topic in group.disagreements and (finding := _by_member(subject, own, used, verb)) is not None:
        return finding
    for member, subscription in [*_users(own, used), *own]:
        mismatch = mismatch_of(subscription, subject.message, verb)
        if mismatch is not None:
            who = f"subscription {shown(subscription)} of {_owner(group.name, member)}"
            return _finding(subject, subscription, mismatch, who=who, client=None if member is None else member.client)
        if used is not None:
            return None  # the broker filters by this one alone
    return None


def _filtered_before(subject: Subject) -> Finding | None:
    """Return the verdict about the last subscription of a group that has none any more: its consumers have left."""
    last = subject.former_subscription
    if last is None:
        return None
    subscription = SubscriptionView(subject.message.topic, last.expression, last.kind, 0)
    mismatch = mismatch_of(subscription, subject.message, "did not match")
    if mismatch is None:
        return None
    who = f"the last subscription {shown(subscription)} of group {subject.consumer.name}, whose consumers have left,"
    return _finding(subject, subscription, mismatch, who=who)


def _finding(
    subject: Subject, subscription: SubscriptionView, mismatch: Mismatch, *, who: str, client: str | None = None
) -> Finding:
    """Return the verdict about a subscription, named by `who`, of a member (None: of the whole group)."""
    seen = "its properties" if subscription.kind == SQL92 else _tag_text(subject.message)
    matching = changes.subscribe(f"subscribe with an expression that matches {seen}", client)
    again = changes.send(f"send a message that matches {shown(subscription)}")
    facts = (mismatch.fact, subject.place_fact)
    return Finding(mismatch.reason, subject.stored_but(f"{who} {mismatch.text}"), facts, (matching, again))


def _users(
    own: list[tuple[MemberView, SubscriptionView]], used: SubscriptionView | None
) -> list[tuple[MemberView | None, SubscriptionView]]:
    """Return a member that has the subscription that the broker uses (None: none has), and this subscription."""
    if used is None:
        return []
    member = next((each for each, found in own if _same(found, used)), None)
    return [(member, used)]


def _by_member(
    subject: Subject,
    own: list[tuple[MemberView, SubscriptionView]],
    used: SubscriptionView | None,
    verb: str,
) -> Finding | None:
    """Return the verdict about members that disagree: the message matches for some of them only."""
    message, group = subject.message, subject.consumer
    refusing = [(member, found) for member, found in own if mismatch_of(found, message, verb) is not None]
    if not refusing or len(refusing) == len(own):
        return None
    if used is not None and subject.is_passed and mismatch_of(used, message, verb) is None and subject.is_recorded:
        blamed = refusing[0]
    elif used is not None and mismatch_of(used, message, verb) is None:
        return None
    else:
        blamed = next(
            ((member, found) for member, found in refusing if used is None or _same(found, used)), refusing[0]
        )
    listed = ", ".join(f"{member.client} subscribes {shown(found)}" for member, found in own)
    mismatch = mismatch_of(blamed[1], message, verb)
    assert mismatch is not None
    text = (
        f"the members of {group.name} disagree: {listed}; queue {subject.stored.place.queue_id} is read with the "
        f"expression of {blamed[0].client}, which {mismatch.text}"
    )
    facts = (
        fact("subscriptions", topic=message.topic, members=tuple(f"{m.client} {s.expression}" for m, s in own)),
        mismatch.fact,
        subject.place_fact,
    )
    change = changes.subscribe(f"give all members of {group.name} the same subscription to {message.topic}")
    return Finding(Reason.FILTERED_BY_MEMBER, subject.stored_but(text), facts, (change,))


def mismatch_of(subscription: SubscriptionView, message: MessageWithCopies, verb: str) -> Mismatch | None:
    """Return why a subscription does not match a message, None if it does. Unknown kinds match, as in upstream."""
    if subscription.kind == SQL92:
        return _sql(subscription.expression, message, verb)
    if subscription.kind not in ("", TAG) or subscription.expression in ("", EVERYTHING):
        return None
    try:
        tags = build_subscription(message.topic, subscription.expression).tags
    except ValueError:
        return None
    if message.tag in tags:
        return None
    values = fact("tag_filter", expression=subscription.expression, tag=message.tag)
    same = sorted(tag for tag in tags if message.tag is not None and tags_code_of(tag) == tags_code_of(message.tag))
    if same:
        text = (
            f"and the tag of the message have the same hash ({same[0]}, {message.tag}): the broker's filter accepts "
            f"it, and SDKs drop it"
        )
        return Mismatch(Reason.TAG_HASH_COLLISION, text, values)
    return Mismatch(Reason.FILTERED_BY_TAG, f"{verb} {_tag_text(message)}", values)


def _sql(expression: str, message: MessageWithCopies, verb: str) -> Mismatch | None:
    try:
        if compile_sql(expression).matches(message.properties):
            return None
        clause, seen = false_clause(expression, message.properties)
    except SqlError:
        return None  # such a subscription is refused, or filters nothing
    values = ", ".join(f"{name} is {'not set' if text is None else f'`{text}`'}" for name, text in seen.items())
    text = f"{verb} it: `{clause}` was not true" + (f", {values}" if values else "")
    values_fact = fact("sql_filter", expression=expression, clause=clause, seen=dict(seen))
    return Mismatch(Reason.FILTERED_BY_SQL, text, values_fact)


def _of_topic(subscriptions: tuple[SubscriptionView, ...], topic: str) -> SubscriptionView | None:
    return next((each for each in subscriptions if each.topic == topic), None)


def _same(one: SubscriptionView, other: SubscriptionView) -> bool:
    return (one.expression, one.kind) == (other.expression, other.kind)


def shown(subscription: SubscriptionView) -> str:
    """Return the expression of a subscription as sentences show it."""
    return f"`{subscription.expression}`" if subscription.kind == SQL92 else f"`TAG = {subscription.expression}`"


def _owner(group: str, member: MemberView | None) -> str:
    return f"group {group}" if member is None else member.client


def _tag_text(message: MessageWithCopies) -> str:
    return "a message without tag" if message.tag is None else f"tag `{message.tag}`"
