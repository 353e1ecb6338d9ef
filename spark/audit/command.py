"""The command `rocketmq-audit JOURNAL...`."""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

from ..errors import INSTALL_SPARK
from .events import JournalError, write_lines
from .rules import FAILURES, VERDICTS, Rules

SOUND, FAILED, UNUSABLE = 0, 1, 2
"""Exit codes: no verdict that counts as a failure; some; the command line or a journal cannot be used."""
SCHEMES = ("http://", "https://")


def main(words: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    options = parser().parse_args(words)
    try:
        return _run(options)
    except (JournalError, OSError) as error:
        print(f"rocketmq-audit: {error}", file=sys.stderr)
        return UNUSABLE
    except ModuleNotFoundError as error:
        print(f"rocketmq-audit: {error}; it comes with {INSTALL_SPARK}", file=sys.stderr)
        return UNUSABLE
    except KeyboardInterrupt:
        return FAILED


def parser() -> argparse.ArgumentParser:
    """The options."""
    parser = argparse.ArgumentParser(
        prog="rocketmq-audit",
        description="Says of journals which messages were lost, duplicated, unexpected, recovered, out of order, late.",
    )
    parser.add_argument(
        "journals",
        nargs="+",
        metavar="JOURNAL",
        help="JSON Lines, Parquet, a folder of them, or the address of an emulator's control port",
    )
    parser.add_argument("--report", type=Path, metavar="FILE", help="write the findings as a page of HTML")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the sums as JSON")
    parser.add_argument("--findings", type=Path, metavar="DIR", help="write every message with a verdict, as Parquet")
    parser.add_argument("--save-journal", type=Path, metavar="FILE", help="keep what emulators told as JSON Lines")
    parser.add_argument(
        "--fail-on",
        type=_verdicts,
        default=FAILURES,
        metavar="VERDICT,...",
        help=f"of {', '.join(VERDICTS)}, or none; default: {','.join(FAILURES)}",
    )
    parser.add_argument(
        "--late-after", type=_milliseconds, default=Rules().late_after_ms, metavar="MS", help="default: %(default)s"
    )
    parser.add_argument(
        "--clock-slack", type=_milliseconds, default=0, metavar="MS", help="how far clocks may disagree; default: 0"
    )
    parser.add_argument("--skip-malformed", action="store_true", help="go on where a line is no event")
    parser.add_argument("--master", metavar="URL", help="where Spark runs; default: all cores of this machine")
    parser.add_argument("--memory", default="1g", metavar="SIZE", help="of Spark on this machine; default: 1g")
    parser.add_argument("--scratch", type=Path, metavar="DIR", help="for files that are removed at the end")
    return parser


def _verdicts(text: str) -> tuple[str, ...]:
    named = tuple(word.strip() for word in text.split(",") if word.strip())
    if named == ("none",):
        return ()
    for word in named:
        if word not in VERDICTS:
            raise argparse.ArgumentTypeError(f"{word!r}: give {', '.join(VERDICTS)}, or none")
    return named


def _milliseconds(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r}: give a number of milliseconds")
    return int(text)


def _run(options: argparse.Namespace) -> int:
    # Spark and the JVM are loaded only when the words are right and the emulators have answered.
    with TemporaryDirectory(prefix="rocketmq-audit-", dir=options.scratch) as folder:
        paths = _journals(options, Path(folder))
        from .journals import find, size

        return _audit(options, paths, Path(folder), size(find(paths)))


def _journals(options: argparse.Namespace, folder: Path) -> list[str]:
    """The journals as files: what emulators tell is written into `folder`, or where it shall be kept."""
    addresses = [name for name in options.journals if name.startswith(SCHEMES)]
    paths = [name for name in options.journals if name not in addresses]
    if options.save_journal is not None and len(addresses) != 1:
        raise JournalError("--save-journal keeps the journal of one emulator; give one address of a control port")
    for number, address in enumerate(addresses):
        from .recording import read_emulator

        path = options.save_journal or folder / f"emulator-{number}.jsonl"
        with path.open("w") as file:
            write_lines(read_emulator(address), file)
        paths.append(str(path))
    return paths


def _audit(options: argparse.Namespace, paths: Sequence[str], folder: Path, size: int) -> int:
    from .job import audit_journals
    from .page import page, sentence, table
    from .session import session
    from .summary import summarise

    rules = Rules(late_after_ms=options.late_after, clock_slack_ms=options.clock_slack)
    spark = session(options.master, options.memory, folder, size)
    try:
        with audit_journals(
            spark, paths, rules, skip_malformed=options.skip_malformed, scratch=options.scratch
        ) as audit:
            found = summarise(audit, options.fail_on)
            if options.findings is not None:
                audit.accounts.filter("size(verdicts) > 0").write.mode("overwrite").parquet(str(options.findings))
    finally:
        spark.stop()
    if options.report is not None:
        options.report.write_text(page(found, options.journals, options.fail_on))
    if options.json is not None:
        options.json.write_text(json.dumps(asdict(found), indent=1))
    print(table(found))
    print(sentence(found, options.fail_on))
    return FAILED if any(found.count(verdict) for verdict in options.fail_on) else SOUND


if __name__ == "__main__":
    sys.exit(main())
