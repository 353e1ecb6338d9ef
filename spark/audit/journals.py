"""Journals as a DataFrame: finds files, checks lines, and converts columns into the form that the audit counts."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ByteType, LongType, StringType, StructField, StructType

from .events import (
    COLUMNS,
    FIRST,
    LAST,
    LATEST_US,
    LONGEST_MS,
    OF_MESSAGES,
    OPEN_US,
    RANK,
    RELEASES,
    RESERVES,
    EventKind,
    JournalError,
)

BROKEN = "_corrupt_record"
"""The column in which Spark stores a line that it cannot parse."""
LINES = (".jsonl", ".ndjson", ".json", ".jsonl.gz", ".ndjson.gz", ".json.gz")
PARQUET = (".parquet",)
_SPARK_TYPES = {str: StringType(), int: LongType()}
_NUMBERS_OF_OTHERS = ("tinyint", "smallint", "int")


@dataclass(frozen=True, slots=True)
class Files:
    """The files of journals, by format."""

    lines: Sequence[str]
    parquet: Sequence[str]


def find(paths: Iterable[str | Path]) -> Files:
    """Find the journal files: files, folders with files of either format, and addresses that Spark can read.

    Raises JournalError if a file does not exist, a folder is empty, or a name does not show the format.
    """
    lines: list[str] = []
    parquet: list[str] = []
    for path in map(str, paths):
        found = [path] if "://" in path else _local(Path(path))
        for name in found:
            bare = name.rstrip("/")
            if bare.endswith(PARQUET):
                parquet.append(name)
            elif bare.endswith(LINES):
                lines.append(name)
            else:
                raise JournalError(f"{name}: the name of a journal ends with {', '.join((*PARQUET, *LINES))}")
    if not lines and not parquet:
        raise JournalError("there is no journal to audit")
    return Files(lines, parquet)


def _local(path: Path) -> list[str]:
    if path.is_file() or (path.is_dir() and path.name.endswith(PARQUET)):
        return [str(path)]
    if not path.is_dir():
        raise JournalError(f"{path}: there is no such journal")
    # Writers such as Spark add files without data, whose names start with these characters.
    within = [
        str(each)
        for each in sorted(path.rglob("*"))
        if each.is_file() and each.name.endswith((*PARQUET, *LINES)) and not each.name.startswith((".", "_"))
    ]
    if not within:
        raise JournalError(f"{path}: there is no journal in this folder")
    return within


PARQUET_WEIGHT = 16
"""Size of a journal as JSON Lines, relative to the same journal as Parquet."""
REMOTE_BYTES = 1 << 30
"""Assumed size of a journal at an address."""


def size(files: Files) -> int:
    """Return the size of journals as text, in bytes; remote ones are estimated."""
    weighed = [*((name, 1) for name in files.lines), *((name, PARQUET_WEIGHT) for name in files.parquet)]
    return sum(REMOTE_BYTES if "://" in name else _bytes(Path(name)) * weight for name, weight in weighed)


def _bytes(path: Path) -> int:
    within = path.rglob("*") if path.is_dir() else [path]
    return sum(each.stat().st_size for each in within if each.is_file())


def read(spark: SparkSession, files: Files) -> DataFrame:
    """Return the events of all files in the form of `normal`; lines that are not events have `problem` and `source`."""
    parts = []
    if files.lines:
        schema = StructType([StructField(name, _SPARK_TYPES[wanted]) for name, (_, wanted) in COLUMNS.items()])
        lines = spark.read.schema(schema.add(BROKEN, StringType())).json(list(files.lines))
        parts.append(normal(lines, F.col("_metadata.file_path")))
    parts.extend(normal(_parquet(spark, name), F.lit(name)) for name in files.parquet)
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.unionByName(part)
    return whole


def _parquet(spark: SparkSession, name: str) -> DataFrame:
    try:
        found = spark.read.parquet(name)
    except AnalysisException as error:
        raise JournalError(f"{name}: cannot be read as Parquet: {str(error).splitlines()[0]}") from None
    there = dict(found.dtypes)
    chosen = []
    for column, (_, wanted) in COLUMNS.items():
        type_ = _SPARK_TYPES[wanted].simpleString()
        given = there.get(column, "void")
        if given != type_ and given != "void" and not (wanted is int and given in _NUMBERS_OF_OTHERS):
            raise JournalError(f"{name}: the column {column} is {given}; in a journal it is {type_}")
        value = F.col(f"`{column}`") if column in there else F.lit(None)
        chosen.append(value.cast(type_).alias(column))
    return found.select(*chosen, F.lit(None).cast("string").alias(BROKEN))


def normal(found: DataFrame, source: Column) -> DataFrame:
    """Convert the columns of `COLUMNS` into the form that the audit needs.

    `run, topic, group, id, message_group, keys, tags, expression` are strings. `rank` is the position in `EventKind`.
    `moment` is the event's position in its recording. `numbered` is true if that position comes from `seq`. `ts_us`,
    `reserved_until_us` and `deliver_at_us` are instants. `problem` says why a line is not an event, and `text` shows
    the line.
    """
    given = {name: F.col(name) for name, (_, wanted) in COLUMNS.items() if wanted is int}
    given |= {name: _text(name) for name, (_, wanted) in COLUMNS.items() if wanted is str}
    rank = F.lit(None).cast(ByteType())
    for kind, number in RANK.items():
        rank = F.when(given["event"] == kind.value, F.lit(number).cast(ByteType())).otherwise(rank)
    problem = _problem(given)
    ranks = F.col("rank")
    length = F.when(given["invisibleMs"].between(0, LONGEST_MS - 1), given["invisibleMs"])
    moment = F.when(given["ts_us"].between(0, LATEST_US - 1), given["ts_us"])
    reserved_until = (
        F.when(ranks.isin(_ranks(RESERVES)) & given["invisibleMs"].isNull(), F.lit(OPEN_US))
        .when(ranks.isin(_ranks(RESERVES | RELEASES)), moment + F.coalesce(length, F.lit(0)) * 1000)
        .otherwise(F.lit(None).cast("long"))
    )
    return found.withColumn("rank", rank).select(
        F.coalesce(given["run_id"], F.lit("")).alias("run"),
        given["topic"].alias("topic"),
        given["group"].alias("group"),
        given["msgId"].alias("id"),
        given["messageGroup"].alias("message_group"),
        given["keys"].alias("keys"),
        given["tags"].alias("tags"),
        given["expression"].alias("expression"),
        given["consumeFrom"].alias("consume_from"),
        ranks,
        F.coalesce(given["seq"], given["ts_us"]).alias("moment"),
        given["seq"].isNotNull().alias("numbered"),
        moment.alias("ts_us"),
        reserved_until.alias("reserved_until_us"),
        F.when(ranks.isin(_ranks(OF_MESSAGES)), given["deliverAtUs"]).alias("deliver_at_us"),
        problem.alias("problem"),
        F.when(problem.isNotNull(), source).alias("source"),
        F.when(problem.isNotNull(), F.substring(F.coalesce(BROKEN, F.to_json(F.struct(*COLUMNS))), 1, 200)).alias(
            "text"
        ),
    )


def _text(name: str) -> Column:
    return F.nullif(F.col(name), F.lit(""))


def _ranks(kinds: Iterable[EventKind]) -> list[int]:
    return sorted(RANK[kind] for kind in kinds)


def _problem(given: dict[str, Column]) -> Column:
    """Return the reason why a line is not an event, in the words of `Event`; null if it is one."""
    subscribed, of_messages = RANK[EventKind.SUBSCRIBED], _ranks(OF_MESSAGES)
    rank = F.col("rank")
    longest = {"ts_us": LATEST_US, "seq": LATEST_US, "deliverAtUs": LATEST_US, "invisibleMs": LONGEST_MS}
    found = F.when(F.col(BROKEN).isNotNull(), F.lit("not an object of JSON with the columns of a journal"))
    for name in ("ts_us", "event", "topic"):
        found = found.when(given[name].isNull(), F.lit(f"there is no {name}"))
    found = found.when(rank.isNull(), F.lit(f"no such event; there are {', '.join(EventKind)}"))
    for name, limit in longest.items():
        found = found.when(~given[name].between(0, limit - 1), F.lit(f"{name} is out of range"))
    return (
        found.when((rank != subscribed) & given["msgId"].isNull(), F.lit("there is no msgId"))
        .when(~rank.isin(of_messages) & given["group"].isNull(), F.lit("there is no group"))
        .when(~given["consumeFrom"].isin(FIRST, LAST), F.lit(f"consumeFrom is neither {FIRST} nor {LAST}"))
    )
