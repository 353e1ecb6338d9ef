"""The command `rocketmq-conformance`."""

import argparse
import logging
import os
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

from rocketmq_testkit.emulator.faults.upstream_defects import VERSIONS, defects_of
from rocketmq_testkit.fixtures.faults.rule_files import UPSTREAM_PREFIX
from rocketmq_testkit.fixtures.options.command_line import Parser, UsageError, value_of, whole_number
from rocketmq_testkit.fixtures.values.value_forms import one_of, whole_number_check

from .case import CaseError, Protocol
from .case_index import entries
from .deployment.target import REFERENCE_VERSION, Target, TargetError
from .discovery import all_cases, all_scenarios
from .drivers import build as driver_build
from .drivers import registry
from .drivers.toolchains.recipe import BuildError
from .outcomes.expected import Expected, ExpectedError
from .outcomes.recorded_outcomes import RecordedOutcomes, RecordedOutcomesError
from .outputs import OutputError, check_outputs, shown
from .pages import behavior_page
from .report import document, junit, page
from .report.terminal import Terminal, builds_shown
from .runner.matrix_record import MatrixRecord
from .runner.plan import Selection, SelectionError, sdks_of
from .runner.run import Run, carry_out, record
from .runner.sample import ScenarioSample
from .targets.apache import recipe as apache_recipe
from .targets.target_option import FORMS, parse_target

EXIT_EXPECTED, EXIT_UNEXPECTED, EXIT_UNUSABLE = 0, 1, 2
"""Exit codes: all outcomes expected; some unexpected; unusable command line or a target that does not start."""
EXTRA = {"grpcio": "grpc", "Jinja2": "jinja2", "rich": "rich"}
"""Packages of the extra `conformance`, and the module of each."""
ERRORS = (
    TargetError,
    SelectionError,
    RecordedOutcomesError,
    CaseError,
    BuildError,
    ExpectedError,
    OutputError,
    document.DocumentError,
)
"""Errors whose text is one sentence for the user of the command."""


def main(words: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    try:
        options = parser().read(words)
    except UsageError as error:
        print(f"rocketmq-conformance: {error}", file=sys.stderr)
        return EXIT_UNUSABLE
    options.command = shown(sys.argv[1:] if words is None else words)
    missing = [package for package, module in EXTRA.items() if find_spec(module) is None]
    if missing:
        print(
            f"rocketmq-conformance: {missing[0]} is not installed; it comes with the extra `conformance`: "
            "pip install '/path/to/rocketmq-testkit[conformance]'",
            file=sys.stderr,
        )
        return EXIT_UNUSABLE
    _interrupt_on_sigterm()
    log = logging.getLogger("rocketmq_testkit.warnings")
    level = log.level
    log.setLevel(logging.ERROR)  # cases deliberately make the mistakes that the emulator warns about
    try:
        return int(options.run(options))
    except ERRORS as error:
        print(f"rocketmq-conformance: {error}", file=sys.stderr)
        return EXIT_UNUSABLE
    except KeyboardInterrupt:
        return EXIT_UNEXPECTED
    finally:
        log.setLevel(level)


def _interrupt_on_sigterm() -> None:
    """Handle a build server's SIGTERM like Ctrl-C: stop the brokers that were started.

    Only the first signal has an effect. The exit code is that of an interrupted run.
    """

    def interrupt(number: int, _frame: object) -> None:
        signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, interrupt)


def parser() -> Parser:
    """The options of all commands."""
    parser = Parser(
        prog="rocketmq-conformance",
        description="Compare the emulator, real brokers or your broker with recorded outcomes of Apache RocketMQ.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND", dest="chosen_command")
    listing = commands.add_parser("list", help="list cases and scenarios")
    _select(listing)
    listing.set_defaults(run=_list)
    running = commands.add_parser(
        "run", help="run cases and scenarios on targets and compare the outcomes with the recorded ones"
    )
    _select(running)
    running.add_argument(
        "--target",
        action="append",
        metavar="TARGET",
        help=f"run on this target: {FORMS} (default emulator); may be repeated",
    )
    running.add_argument(
        "--faults",
        type=value_of("--faults", one_of("set of faults", [f"{UPSTREAM_PREFIX}{version}" for version in VERSIONS])),
        metavar="upstream:VERSION",
        help="switch on the known defects of this version in the emulator (default: none)",
    )
    running.add_argument(
        "--jobs",
        type=_count("--jobs", "number of jobs"),
        default=os.cpu_count() or 2,
        metavar="N",
        help="run N cases concurrently, not counting waiting ones (default: number of processors)",
    )
    running.add_argument(
        "--attempts",
        type=_count("--attempts", "number of attempts"),
        default=1,
        metavar="N",
        help="try a case with an unexpected outcome up to N times; on the emulator, scenarios only (default 1)",
    )
    running.add_argument(
        "--repeated-max",
        type=_count("--repeated-max", "number of repeated cases", 0),
        metavar="N",
        help="exit with code 1 if more than N cases needed another attempt (default: no limit)",
    )
    running.add_argument(
        "--record", action="store_true", help="record the outcomes of real brokers as the new reference"
    )
    running.add_argument(
        "--sample",
        action="store_true",
        help="run each scenario with a fixed sample of the SDKs, not with all (see docs/conformance.md)",
    )
    running.add_argument("--json", type=Path, metavar="FILE", help="write the outcomes as JSON, for `report`")
    running.add_argument("--junit", type=Path, metavar="FILE", help="write the outcomes as JUnit XML")
    running.add_argument(
        "--report",
        type=Path,
        metavar="DIR",
        help="write the outcomes as a page, DIR/index.html, and the lists of all behaviors beside it",
    )
    running.add_argument(
        "--expected", type=Path, metavar="FILE", help="accept the deviations of your broker in this file"
    )
    running.add_argument(
        "--record-expected", type=Path, metavar="FILE", help="write differing outcomes as deviations, for --expected"
    )
    running.set_defaults(run=_run)
    building = commands.add_parser("build", help="build SDK drivers and download jars of brokers")
    building.add_argument(
        "--sdk", metavar="NAME,...", help=f"build only these drivers: {', '.join(registry.names())} (default: all)"
    )
    building.add_argument(
        "--apache", action="append", metavar="VERSION", help="also download the jars of this version; may be repeated"
    )
    building.set_defaults(run=_build)
    reporting = commands.add_parser("report", help="combine files of `run --json` into one page")
    reporting.add_argument("files", type=Path, nargs="+", metavar="FILE")
    reporting.add_argument("--report", type=Path, required=True, metavar="DIR", help="write the page to DIR/index.html")
    reporting.add_argument("--junit", type=Path, metavar="FILE", help="also write the outcomes as JUnit XML")
    reporting.set_defaults(run=_report)
    return parser


def _select(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-k", dest="expression", default="", metavar="EXPR", help="select ids: 'pop and not order' (default: all)"
    )
    protocols = [each.value for each in Protocol]
    parser.add_argument(
        "--protocol",
        type=value_of("--protocol", one_of("protocol", protocols)),
        metavar="PROTOCOL",
        help=f"select one protocol: {' or '.join(protocols)} (default: both)",
    )
    parser.add_argument("--sdk", metavar="NAME,...", help="select scenarios through these SDKs, or all (default: none)")


def _count(flag: str, noun: str, low: int = 1) -> Callable[[str], int]:
    """The `type` of an option that is a count."""
    return value_of(flag, whole_number_check(noun, low, None, f"use {{option}}={max(low, 1)}"), whole_number)


def _selection(options: argparse.Namespace) -> Selection:
    protocols = frozenset(Protocol) if options.protocol is None else frozenset({Protocol(options.protocol)})
    return Selection(expression=options.expression, protocols=protocols, sdks=sdks_of(options.sdk))


def _nothing(options: argparse.Namespace) -> str:
    what = f"-k {options.expression!r}: " if options.expression else ""
    return f"{what}no case or scenario matches; list them with `rocketmq-conformance list`"


def _list(options: argparse.Namespace) -> int:
    selection = _selection(options)
    cases, scenarios = selection.of_cases(all_cases()), selection.of_scenarios(all_scenarios())
    if not cases and not scenarios:
        raise SelectionError(_nothing(options))
    for case in cases:
        print(f"{case.id:60} {case.mark.protocol:9} {case.sentence}")
    for scenario in scenarios:
        print(f"scenarios.{scenario.id:50} {'SDKs':9} {scenario.sentence}")
    return EXIT_EXPECTED


def _run(options: argparse.Namespace) -> int:
    records = RecordedOutcomes()
    targets = targets_of(options)
    selection = _selection(options)
    cases, sdks = selection.of_cases(all_cases()), selection.of_sdks()
    scenarios = selection.of_scenarios(all_scenarios()) if sdks else []
    if not cases and not scenarios:
        hint = "" if options.sdk else "; scenarios need --sdk"
        raise SelectionError(f"{_nothing(options)}{hint}")
    check_outputs({"--json": options.json, "--junit": options.junit, "--record-expected": options.record_expected})
    check_outputs({"--report": options.report}, page.NAME)
    expected = Expected.read(options.expected)
    sample = ScenarioSample(all_scenarios(), records, MatrixRecord.read()) if options.sample else None
    pairs = sum(sample is None or not sample.omits(each, sdk) for each in scenarios for sdk in sdks)
    total = (len(cases) + pairs) * len(targets)
    with Terminal(sys.stdout, total) as terminal:
        run = carry_out(
            cases,
            targets,
            records,
            jobs=options.jobs,
            each=terminal.show,
            scenarios=scenarios,
            sdks=sdks,
            attempts=options.attempts,
            repeated_max=options.repeated_max,
            expected=expected,
            announce=terminal.announce,
            sample=sample,
        )
    terminal.conclude(run)
    _write(run, targets, options)
    if options.record_expected is not None:
        count = expected.put(run.outcomes, run.date).write(options.record_expected)
        print(f"{options.record_expected}: {count} deviations; state the cause of each in its `reason`")
        return EXIT_EXPECTED if not run.problem and not run.interrupted else EXIT_UNEXPECTED
    if options.record:
        return _record(run, targets, records)
    return EXIT_EXPECTED if run.good else EXIT_UNEXPECTED


def targets_of(options: argparse.Namespace) -> list[Target]:
    """Parse the targets of a run. Raises TargetError."""
    version = "" if options.faults is None else options.faults.removeprefix(UPSTREAM_PREFIX)
    defects = [each.name for each in defects_of(version)] if version else []
    targets = [parse_target(text, defects) for text in options.target or ["emulator"]]
    if options.faults is not None and not any(each.emulated for each in targets):
        raise TargetError(
            f"--faults={options.faults}: no target has faults; only the emulator has; add --target emulator"
        )
    for name, count in Counter(each.name for each in targets).items():
        if count > 1:
            raise TargetError(f"--target={name}: given {count} times; a run has each target once; give it once")
    if options.record:
        # Checked before anything runs. The emulator may run beside a broker that is recorded.
        real = [each for each in targets if not each.emulated]
        for each in real or targets:
            if each.unrecordable_reason:
                raise TargetError(f"--record: {each.name} cannot be recorded: {each.unrecordable_reason}")
    return targets


def _write(run: Run, targets: Sequence[Target], options: argparse.Namespace) -> None:
    content = document.document(
        run,
        {each.name: document.About(each.describe(), each.recorded_version) for each in targets},
        entries(),
        options.command,
    )
    if options.json is not None:
        document.write(options.json, content)
    if options.junit is not None:
        junit.write(options.junit, content)
    if options.report is not None:
        print(f"report: {page.write(options.report, content, behavior_page.lists(RecordedOutcomes()))}")


def _record(run: Run, targets: Sequence[Target], records: RecordedOutcomes) -> int:
    for name, ids in record(run, [each for each in targets if not each.unrecordable_reason], records).items():
        print(f"{name}: {len(ids)} records changed")
        for id_ in ids:
            print(f"  {id_}")
    print("run `make pages` to update docs/")
    return EXIT_EXPECTED if not run.problem and not run.interrupted else EXIT_UNEXPECTED


def _build(options: argparse.Namespace) -> int:
    names = sdks_of(options.sdk) or registry.names()
    try:
        recipes = [registry.recipe(name) for name in names]
    except LookupError as error:
        raise SelectionError(str(error)) from error
    recipes += [apache_recipe(version) for version in options.apache or ([] if options.sdk else [REFERENCE_VERSION])]
    with builds_shown(sys.stderr) as announce:
        for recipe in recipes:
            print(f"{recipe.name}: {driver_build.build(recipe, announce)}", flush=True)
    return EXIT_EXPECTED


def _report(options: argparse.Namespace) -> int:
    check_outputs({"--report": options.report}, page.NAME)
    check_outputs({"--junit": options.junit})
    content = document.read(options.files)
    print(f"report: {page.write(options.report, content, behavior_page.lists(RecordedOutcomes()))}")
    if options.junit is not None:
        junit.write(options.junit, content)
    return EXIT_EXPECTED


if __name__ == "__main__":
    sys.exit(main())
