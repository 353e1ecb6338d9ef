"""Overtaken messages: finds messages of one message group that a group did not receive in order."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from .events import RELEASES, SETTLES, Kind
from .facts import ACCOUNT, is_kind, is_one_of

LINE = ("run", "topic", "group", "message_group")
"""The columns that identify ordered messages for one consumer group."""
PLACE_IN_LINE = ("moment", "ts_us", "rank", "id", "held_until_place")


def overtaken(accounts: DataFrame) -> DataFrame:
    """Return the identifying columns of overtaken accounts, given accounts with `moves`.

    A group's front is the highest position (`visible_moment`) delivered so far. It never decreases. So a message was
    overtaken while it waited if the front is higher at the end of its wait than at an event of the wait.
    """
    moves = (
        accounts.filter(F.col("message_group").isNotNull() & (F.col("visible_moment") >= 0))
        .select(*ACCOUNT, "message_group", "visible_moment", F.explode("moves").alias("move"))
        .select(*ACCOUNT, "message_group", "visible_moment", "move.*")
    )
    line = Window.partitionBy(*LINE).orderBy(*PLACE_IN_LINE)
    whole = Window.partitionBy(*LINE)
    given = F.when(F.col("first"), F.col("visible_moment"))
    nowhere = F.lit(-1)
    fronts = moves.withColumn(
        "front", F.coalesce(F.max(given).over(line.rowsBetween(Window.unboundedPreceding, -1)), nowhere)
    ).withColumn("last_front", F.coalesce(F.max(given).over(whole), nowhere))
    own = Window.partitionBy(*LINE, "id").orderBy(*PLACE_IN_LINE).rowsBetween(1, Window.unboundedFollowing)
    ends_wait = is_kind(Kind.DELIVERED) | is_one_of(SETTLES)
    at_end = F.coalesce(F.first(F.when(ends_wait, F.col("front")), ignorenulls=True).over(own), F.col("last_front"))
    return (
        fronts.withColumn("at_end", at_end)
        .filter(
            (F.col("first") & (F.col("front") > F.col("visible_moment")))
            | (is_one_of(RELEASES) & (F.col("at_end") > F.col("front")))
        )
        .select(*ACCOUNT)
        .distinct()
    )
