"""The command `rocketmq-replay`: sends saved messages, or the messages of a topic, again."""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from rocketmq_testkit.emulator.kernel.masking import masked_line
from rocketmq_testkit.fixtures.options.command_line import Parser, UsageError, value_of, whole_number
from rocketmq_testkit.fixtures.values.value_forms import one_of, whole_number_check

from ..errors import INSTALL_SPARK

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DONE, FAILED, UNUSABLE = 0, 1, 2
"""Exit codes.

- DONE: all messages were sent and acknowledged, or saved if there is no --to.
- FAILED: reading, saving or sending failed, or Ctrl-C ended the command.
- UNUSABLE: the command line or an input cannot be used.
"""
JSON_SUFFIXES = (".jsonl", ".ndjson", ".json", ".jsonl.gz", ".ndjson.gz", ".json.gz")
"""Ends of the names of files and folders that have JSON Lines; all others have Parquet."""


def main(words: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    try:
        options = parser().read(words)
        _check(options)
        return _run(options)
    except UsageError as error:
        return _said(str(error), UNUSABLE)
    except ModuleNotFoundError as error:
        return _said(f"{error}; it comes with {INSTALL_SPARK}", UNUSABLE)
    except KeyboardInterrupt:
        return FAILED


def parser() -> Parser:
    """The options."""
    made = Parser(
        prog="rocketmq-replay",
        description="Send saved messages again, to another cluster or topic, in their order, at any pace.",
    )
    add = made.add_argument
    add(
        "recordings",
        nargs="*",
        metavar="RECORDING",
        help="read messages that --save has saved: Parquet, or JSON Lines (.jsonl), a file or a folder; or the "
        "messages in a journal file of an emulator; instead of --from",
    )
    add("--from", dest="source", metavar="HOST:PORT", help="read from the cluster of this name server")
    add("--topic", metavar="TOPIC", help="read this topic, with --from")
    add(
        "--read",
        action="append",
        default=[],
        type=_setting("--read", "startingTimestamp=1767225600000"),
        metavar="OPTION=VALUE",
        help="set an option of the read, such as startingTimestamp=1767225600000; may be repeated",
    )
    add(
        "--save",
        metavar="PATH",
        help="save the messages to this path: as JSON Lines if it ends with .jsonl, .ndjson or .json, compressed if "
        ".gz follows, otherwise as Parquet; --to may be left out then",
    )
    add("--to", dest="target", metavar="HOST:PORT", help="send to the cluster of this name server")
    add("--to-topic", metavar="TOPIC", help="send to this topic (default: the topic of each message)")
    add(
        "--write",
        action="append",
        default=[],
        type=_setting("--write", "sendBatchSize=32"),
        metavar="OPTION=VALUE",
        help="set an option of the write, such as sendBatchSize=32; may be repeated",
    )
    add(
        "--speed",
        type=_speed,
        metavar="FACTOR",
        help="send at this multiple of the pace at which the messages were stored (default: as fast as possible)",
    )
    add(
        "--keep",
        type=value_of("--keep", one_of("order", ("queue", "key"))),
        default="queue",
        metavar="ORDER",
        help="keep the order of each queue or of each key (default queue)",
    )
    add(
        "--tasks",
        type=value_of("--tasks", whole_number_check("number of tasks", 1, None, "use {option}=4"), whole_number),
        metavar="N",
        help="send in this number of tasks (default: number of cores)",
    )
    add("--master", metavar="URL", help="run Spark on this master (default: all cores of this machine)")
    add("--memory", default="1g", metavar="SIZE", help="limit the memory of Spark on this machine (default 1g)")
    return made


def _setting(flag: str, example: str) -> Callable[[str], tuple[str, str]]:
    """The `type` of --read and --write, which set an option of the connector."""

    def read(text: str) -> tuple[str, str]:
        name, separator, value = text.partition("=")
        if not separator or not name:
            raise UsageError(
                f"{flag}={masked_line(text)}: not a setting; a setting is OPTION=VALUE; use {flag} {example}"
            )
        return name, value

    return read


def _speed(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not found > 0:
        raise UsageError(f"--speed={text}: not a speed; a speed is a number above 0; use --speed=10")
    return found


def _check(options: argparse.Namespace) -> None:
    if bool(options.recordings) == bool(options.source):
        raise UsageError(
            "RECORDING, --from: not exactly one is given; a replay reads recordings or a cluster; use "
            "rocketmq-replay orders.parquet"
        )
    if options.source and not options.topic:
        raise UsageError(f"--from={options.source}: no topic is named; a cluster is read by topic; give --topic, too")
    if options.recordings and (options.topic or options.read):
        raise UsageError("--topic, --read: no effect on recordings; they belong to --from; leave them out")
    if not (options.target or options.save):
        raise UsageError("--to: missing; a replay sends to a cluster or saves to a file; give --to or --save")
    if not options.target and (options.to_topic or options.write or options.speed):
        raise UsageError("--to-topic, --write, --speed: no effect without --to; they belong to it; give --to, too")


def _run(options: argparse.Namespace) -> int:
    from pyspark.errors import PySparkException
    from rocketmq_testkit.fixtures.journal.journal_file import UnreadableJournal

    from ..errors import OptionError, RocketMQError, SchemaError
    from .resend import replay

    with TemporaryDirectory(prefix="rocketmq-replay-") as folder:
        spark = _session(options, folder)
        try:
            recorded = _recorded(spark, options, Path(folder))
            if options.save:
                save_rows(recorded, options.save)
                # A second read of the topic could find more messages than were saved.
                recorded = saved_rows(spark, options.save)
            if options.target is None:
                print(f"{recorded.count()} messages saved in {options.save}")
                return DONE
            given = {"nameServer": options.target, **dict(options.write)}
            if options.to_topic:
                given["topic"] = options.to_topic
            done = replay(recorded, given, speed=options.speed, keep=options.keep, tasks=options.tasks)
        except (OptionError, SchemaError, UnreadableJournal) as error:
            return _said(str(error), UNUSABLE)
        except (RocketMQError, PySparkException) as error:
            return _said(_reason(error), FAILED)
        finally:
            spark.stop()
    late = f", at most {done.late_s:.1f} s late" if options.speed is not None else ""
    print(f"{done.messages} messages sent by {done.tasks} tasks{late}")
    return DONE


def _recorded(spark: "SparkSession", options: argparse.Namespace, folder: Path) -> "DataFrame":
    """Return the rows to send again. Raises UnreadableJournal."""
    if options.recordings:
        from .journal_messages import recording_of

        first, *others = (saved_rows(spark, recording_of(path, folder) or path) for path in options.recordings)
        for other in others:
            first = first.unionByName(other)
        return first
    given = {"nameServer": options.source, "topic": options.topic, "includeMetadata": "true", **dict(options.read)}
    return spark.read.format("rocketmq").options(**given).load()


def save_rows(rows: "DataFrame", path: str) -> None:
    """Save rows in the format that the end of the path names. Raises PySparkException if the path exists."""
    writer = rows.write.mode("errorifexists")
    if path.endswith(JSON_SUFFIXES):
        writer.json(path, compression="gzip" if path.endswith(".gz") else None)
    else:
        writer.parquet(path)


def saved_rows(spark: "SparkSession", path: str) -> "DataFrame":
    """Return the rows that `save_rows` has saved to the path."""
    from ..options.schema import columns_of_read, ddl

    if path.endswith(JSON_SUFFIXES):
        return spark.read.schema(ddl(columns_of_read(True))).option("mode", "FAILFAST").json(path)
    return spark.read.parquet(path)


def _session(options: argparse.Namespace, folder: str) -> "SparkSession":
    from .. import register
    from ..session.command_session import command_session

    spark = command_session(
        "rocketmq-replay",
        options.master,
        options.memory,
        Path(folder),
        settings={"spark.sql.session.timeZone": "UTC"},
    )
    register(spark)
    return spark


def _reason(error: Exception) -> str:
    """Extract this package's sentence from Spark's error, or else its first line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    ours = [line for line in lines if line.startswith("pyspark_rocketmq.errors.")]
    return ours[-1].partition(": ")[2] if ours else lines[0]


def _said(text: str, code: int) -> int:
    print(f"rocketmq-replay: {text}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
