"""The command `rocketmq-audit JOURNAL...`."""

import argparse
import json
import shlex
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

from rocketmq_testkit.emulator.kernel.masking import masked_words
from rocketmq_testkit.fixtures.options.command_line import Parser, UsageError, value_of, whole_number
from rocketmq_testkit.fixtures.values.value_forms import one_of, whole_number_check

from ..errors import INSTALL_SPARK
from .events import JournalError, write_lines
from .rules import FAILURES, VERDICTS, AuditRules

SOUND, FAILED, UNUSABLE = 0, 1, 2
"""Exit codes: no verdict that counts as a failure; some; the command line or a journal cannot be used."""
SCHEMES = ("http://", "https://")


def main(words: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    try:
        options = parser().read(words)
        options.words = sys.argv[1:] if words is None else words
        return _run(options)
    except (JournalError, UsageError, OSError) as error:
        print(f"rocketmq-audit: {error}", file=sys.stderr)
        return UNUSABLE
    except ModuleNotFoundError as error:
        print(f"rocketmq-audit: {error}; it comes with {INSTALL_SPARK}", file=sys.stderr)
        return UNUSABLE
    except KeyboardInterrupt:
        return FAILED


def parser() -> Parser:
    """The options."""
    parser = Parser(
        prog="rocketmq-audit",
        description="Find messages that were lost, duplicated, unexpected, recovered, out of order or late.",
    )
    parser.add_argument(
        "journals",
        nargs="+",
        metavar="JOURNAL",
        help="read JSON Lines, Parquet, a folder of them, or the control port of an emulator by its address",
    )
    parser.add_argument("--report", type=Path, metavar="FILE", help="write the findings as a page of HTML")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the totals as JSON")
    parser.add_argument("--findings", type=Path, metavar="DIR", help="write every message with a verdict, as Parquet")
    parser.add_argument(
        "--save-journal", type=Path, metavar="FILE", help="save the journal of an emulator as JSON Lines"
    )
    parser.add_argument(
        "--fail-on",
        type=_verdicts,
        default=FAILURES,
        metavar="VERDICT,...",
        help="exit with code 1 if a message has one of these verdicts, or never with none; the verdicts are "
        f"{', '.join(VERDICTS)} (default {','.join(FAILURES)})",
    )
    parser.add_argument(
        "--late-after",
        type=_milliseconds("--late-after"),
        default=AuditRules().late_after_ms,
        metavar="MS",
        help="count a delivery as late after this time in ms (default %(default)s)",
    )
    parser.add_argument(
        "--clock-slack",
        type=_milliseconds("--clock-slack"),
        default=0,
        metavar="MS",
        help="allow this difference between clocks in ms (default 0)",
    )
    parser.add_argument("--skip-malformed", action="store_true", help="skip and count lines that are not events")
    parser.add_argument("--master", metavar="URL", help="run Spark on this master (default: all cores of this machine)")
    parser.add_argument(
        "--memory", default="1g", metavar="SIZE", help="limit the memory of Spark on this machine (default 1g)"
    )
    parser.add_argument(
        "--scratch",
        type=Path,
        metavar="DIR",
        help="write temporary files to this folder (default: the system's folder)",
    )
    return parser


def _verdicts(text: str) -> tuple[str, ...]:
    named = tuple(word.strip() for word in text.split(",") if word.strip())
    if named == ("none",):
        return ()
    for word in named:
        if word not in VERDICTS:
            problem = one_of("verdict", (*VERDICTS, "none"))(word)
            assert problem is not None
            raise UsageError(problem.sentence("--fail-on", word))
    return named


def _milliseconds(flag: str) -> Callable[[str], int]:
    """The `type` of an option in milliseconds."""
    return value_of(flag, whole_number_check("number of milliseconds", 0, None, "use {option}=1000"), whole_number)


def _run(options: argparse.Namespace) -> int:
    # Spark and the JVM are loaded only after the options are valid and the emulators have responded.
    with TemporaryDirectory(prefix="rocketmq-audit-", dir=options.scratch) as folder:
        paths = _journals(options, Path(folder))
        from .journals import find, size

        return _audit(options, paths, Path(folder), size(find(paths)))


def _journals(options: argparse.Namespace, folder: Path) -> list[str]:
    """Return the journals as files: journals of emulators are written to `folder`, or to the file of --save-journal."""
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
    from .page import AuditRun, page, sentence, table
    from .session import session
    from .summary import summarize

    begin_s = time.monotonic()
    rules = AuditRules(late_after_ms=options.late_after, clock_slack_ms=options.clock_slack)
    spark = session(options.master, options.memory, folder, size)
    try:
        with audit_journals(
            spark, paths, rules, skip_malformed=options.skip_malformed, scratch=options.scratch
        ) as audit:
            found = summarize(audit, options.fail_on)
            if options.findings is not None:
                audit.accounts.filter("size(verdicts) > 0").write.mode("overwrite").parquet(str(options.findings))
    finally:
        spark.stop()
    if options.report is not None:
        command = shlex.join(["rocketmq-audit", *masked_words(options.words)])
        run = AuditRun(command, time.monotonic() - begin_s)
        options.report.write_text(page(found, masked_words(options.journals), options.fail_on, run))
    if options.json is not None:
        options.json.write_text(json.dumps(asdict(found), indent=1))
    print(table(found))
    print(sentence(found, options.fail_on))
    return FAILED if any(found.count(verdict) for verdict in options.fail_on) else SOUND


if __name__ == "__main__":
    sys.exit(main())
