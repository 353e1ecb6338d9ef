"""Overtaken messages: finds messages of one message group that a consumer group did not receive in order.

An account is a message with its events for one consumer group, see `facts.py`. A moment is the place of an event in the
order of its recording: `seq`, or the time without it.
"""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from .events import RELEASES, SETTLES, EventKind
from .facts import ACCOUNT, is_kind, is_one_of

SEQUENCE = ("run", "topic", "group", "message_group")
"""The columns that identify a sequence: the messages of one message group for one consumer group."""
ORDER_IN_SEQUENCE = ("moment", "ts_us", "rank", "id", "reserved_until_place")
"""The columns that order the events of a sequence; `rank` is that of the kind of event. The last two break ties."""


def overtaken(accounts: DataFrame) -> DataFrame:
    """Return the identifying columns of overtaken accounts.

    `accounts` is the result of `facts.accounts` with `lines`. `moves` has the deliveries, releases and settlements of
    each account, with `first` for its first delivery. `visible_moment` is the moment at which its message became
    visible, -1 if it never did; messages of a sequence have this order.

    A consumer group's front is the highest `visible_moment` delivered so far. It never decreases. So a message was
    overtaken while it waited if the front is higher at the end of its wait than at an event of the wait.
    """
    moves = (
        accounts.filter(F.col("message_group").isNotNull() & (F.col("visible_moment") >= 0))
        .select(*ACCOUNT, "message_group", "visible_moment", F.explode("moves").alias("move"))
        .select(*ACCOUNT, "message_group", "visible_moment", "move.*")
    )
    sequence = Window.partitionBy(*SEQUENCE)
    earlier = sequence.orderBy(*ORDER_IN_SEQUENCE).rowsBetween(Window.unboundedPreceding, -1)
    delivered = F.when(F.col("first"), F.col("visible_moment"))
    nothing = F.lit(-1)
    fronts = moves.withColumn("front", F.coalesce(F.max(delivered).over(earlier), nothing)).withColumn(
        "last_front", F.coalesce(F.max(delivered).over(sequence), nothing)
    )
    later_of_message = (
        Window.partitionBy(*SEQUENCE, "id").orderBy(*ORDER_IN_SEQUENCE).rowsBetween(1, Window.unboundedFollowing)
    )
    ends_wait = is_kind(EventKind.DELIVERED) | is_one_of(SETTLES)
    next_end = F.first(F.when(ends_wait, F.col("front")), ignorenulls=True).over(later_of_message)
    return (
        fronts.withColumn("front_at_end", F.coalesce(next_end, F.col("last_front")))
        .filter(
            (F.col("first") & (F.col("front") > F.col("visible_moment")))
            | (is_one_of(RELEASES) & (F.col("front_at_end") > F.col("front")))
        )
        .select(*ACCOUNT)
        .distinct()
    )
