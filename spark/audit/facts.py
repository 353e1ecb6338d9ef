"""The facts of every message for every group, counted by Spark: one shuffle of the events, then windows per account.

No row passes through Python. The counts are those of `ledger.py`, expressed with columns.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from .events import LAST, MAKES_VISIBLE, OF_MESSAGES, OPEN_US, RANK, RELEASES, RESERVES, SETTLES, EventKind
from .rules import AuditRules, DeliveryFacts, in_time, judge, too_soon

ACCOUNT = ("run", "topic", "group", "id")
"""The columns that identify an account."""
PLACE = ("moment", "ts_us", "rank", "reserved_until_place")
"""The columns that order the events of one message."""
FLAGS = "verdicts"
"""The column with the names of the verdicts that apply."""


def is_one_of(kinds: frozenset[EventKind]) -> Column:
    """Return a condition: the event of a row is of one of these kinds."""
    return F.col("rank").isin(sorted(RANK[kind] for kind in kinds))


def is_kind(kind: EventKind) -> Column:
    """Return a condition: the event of a row is of this kind."""
    return F.col("rank") == RANK[kind]


def subscriptions(events: DataFrame) -> DataFrame:
    """Return the subscription of each group to each topic: `wanted_tags` (null for all tags) and `from_moment`.

    There are few rows: one for each recording, topic and group.
    """
    subscribed = is_kind(EventKind.SUBSCRIBED)
    expression = F.coalesce("expression", F.lit("*"))
    # `trim` alone would receive the index of each tag as the characters to trim.
    tags = F.filter(F.transform(F.split(expression, r"\|\|"), lambda tag: F.trim(tag)), lambda tag: tag != "")
    everything = (F.size(tags) == 0) | (F.array_join(F.array_distinct(tags), " ") == "*")
    start = F.when(F.col("consume_from") == LAST, F.col("moment")).otherwise(F.lit(-1))
    return (
        events.filter(~is_one_of(OF_MESSAGES))
        .groupBy("run", "topic", "group")
        .agg(
            F.flatten(F.collect_set(F.when(subscribed, tags))).alias("tags"),
            # A group without a subscription event wants all messages.
            F.coalesce(F.max(F.when(subscribed, everything)), F.lit(True)).alias("everything"),
            F.coalesce(F.min(F.when(subscribed, start)), F.lit(-1)).alias("from_moment"),
        )
        .select(
            "run", "topic", "group", F.when(~F.col("everything"), F.col("tags")).alias("wanted_tags"), "from_moment"
        )
    )


def events_by_account(events: DataFrame, wants: DataFrame) -> DataFrame:
    """Return the events of each account: those of a message once for each group of its topic."""
    groups = wants.groupBy("run", "topic").agg(F.collect_list("group").alias("groups"))
    receivers = F.when(is_one_of(OF_MESSAGES), F.col("groups")).otherwise(F.array("group"))
    return (
        events.filter(~is_kind(EventKind.SUBSCRIBED))
        .join(F.broadcast(groups), ["run", "topic"])
        .withColumn("group", F.explode(receivers))
        .withColumn("reserved_until_place", F.coalesce("reserved_until_us", F.lit(-1)))
        .select(*ACCOUNT, *PLACE, "reserved_until_us", "deliver_at_us", "message_group", "keys", "tags")
    )


def accounts(events: DataFrame, wants: DataFrame, ends: DataFrame, rules: AuditRules, *, lines: bool) -> DataFrame:
    """Return one row for each account: the columns of `DeliveryFacts`, `key`, `visible_moment`, `message_group`.

    `ends` has the columns `run` and `end_us`. With `lines`, which is for journals with message groups, each row also
    has `moves`, the events that `order.py` needs.
    """
    before = Window.partitionBy(*ACCOUNT).orderBy(*PLACE).rowsBetween(Window.unboundedPreceding, -1)
    delivered, acked = is_kind(EventKind.DELIVERED), is_kind(EventKind.ACKED)
    reserved_until = F.coalesce("reserved_before", F.lit(OPEN_US))
    settles = is_kind(EventKind.DEADLETTERED) | (acked & in_time(F.col("ts_us"), reserved_until, rules))
    first = delivered & (F.coalesce("seen", F.lit(0)) == 0)
    duplicate = delivered & (F.coalesce("settled", F.lit(False)) | too_soon(F.col("ts_us"), reserved_until, rules))
    redelivery = delivered & ~F.col("first") & ~F.col("duplicate")
    place = F.struct(*PLACE)
    shown = is_one_of(MAKES_VISIBLE)
    rows = (
        events_by_account(events, wants)
        .withColumn("reserved_before", F.last("reserved_until_us", ignorenulls=True).over(before))
        .withColumn("seen", F.sum(delivered.cast("int")).over(before))
        .withColumn("settled", F.max(settles).over(before))
        .withColumn("first", first)
        .withColumn("duplicate", duplicate)
    )
    counted = [
        _count(shown).alias("times_stored"),
        _count(is_kind(EventKind.SEND_FAILED)).alias("failed_sends"),
        _count(is_kind(EventKind.RECALLED)).alias("recalls"),
        _count(is_kind(EventKind.SKIPPED)).alias("skips"),
        _count(delivered).alias("deliveries"),
        _count(F.col("duplicate")).alias("duplicates"),
        F.coalesce(F.max(F.when(acked, place)) > F.min(F.when(redelivery, place)), F.lit(False)).alias("retried"),
        _count(acked).alias("acks"),
        _count(is_kind(EventKind.DEADLETTERED)).alias("deaths"),
        F.coalesce(F.min(F.when(shown, F.greatest("ts_us", F.coalesce("deliver_at_us", F.lit(0))))), F.lit(0)).alias(
            "visible_us"
        ),
        F.coalesce(F.min(F.when(shown, F.col("moment"))), F.lit(-1)).alias("visible_moment"),
        F.coalesce(F.min(F.when(F.col("first"), F.col("ts_us"))), F.lit(0)).alias("first_us"),
        F.coalesce(
            F.max_by("reserved_until_us", F.when(F.col("reserved_until_us").isNotNull(), place)), F.lit(0)
        ).alias("reserved_until_us"),
        F.min("message_group").alias("message_group"),
        F.min("keys").alias("keys"),
        F.min("tags").alias("tag"),
    ]
    if lines:
        moves = is_one_of(SETTLES | RELEASES) | delivered
        counted.append(F.collect_list(F.when(moves, F.struct(*PLACE, "first"))).alias("moves"))
    wanted = F.col("wanted_tags").isNull() | F.coalesce(F.array_contains("wanted_tags", F.col("tag")), F.lit(False))
    return (
        rows.groupBy(*ACCOUNT)
        .agg(*counted)
        .join(F.broadcast(wants), ["run", "topic", "group"])
        .join(F.broadcast(ends), "run")
        .withColumn("wanted", wanted & (F.col("visible_moment") >= F.col("from_moment")))
        .withColumn("key", F.coalesce("message_group", "keys"))
        .drop("wanted_tags", "from_moment", "tag", "keys")
    )


def judged(found: DataFrame, rules: AuditRules) -> DataFrame:
    """Add a column `verdicts` to the accounts: the names of the verdicts that apply, in the order of `VERDICTS`."""
    facts = DeliveryFacts(**{name: F.col(name) for name in DeliveryFacts.__dataclass_fields__})
    named = judge(facts, rules, lambda column: ~column)
    verdicts = F.array_compact(F.array(*(F.when(applies, F.lit(name)) for name, applies in named.items())))
    return found.withColumn(FLAGS, verdicts)


def _count(condition: Column) -> Column:
    return F.count(F.when(condition, F.lit(1)))


assert RESERVES.isdisjoint(RELEASES)
