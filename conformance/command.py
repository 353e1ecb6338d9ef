"""The command `rocketmq-conformance`."""

import argparse
import os
import sys
from collections.abc import Sequence

from .case import Case, Protocol, all_cases
from .outcome import Outcome
from .report.terminal import Terminal
from .runner.plan import Selection, SelectionError
from .runner.run import carry_out, record
from .targets.choose import FORMS, target
from .targets.emulator import EmulatorTarget
from .targets.target import TargetError
from .truth import Truth

EXPECTED, UNEXPECTED, UNUSABLE = 0, 1, 2
"""Exit codes: all outcomes as expected; not; the command line cannot be used or a target does not start."""


def main(words: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    options = _parser().parse_args(words)
    try:
        return int(options.run(options))
    except (TargetError, SelectionError) as error:
        print(f"rocketmq-conformance: {error}", file=sys.stderr)
        return UNUSABLE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="rocketmq-conformance",
        description="Runs the behaviours that clients of Apache RocketMQ can see on the emulator and on real brokers.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    listing = commands.add_parser("list", help="show the cases and scenarios")
    _select(listing)
    listing.set_defaults(run=_list)
    running = commands.add_parser("run", help="run them on targets and compare with what is recorded")
    _select(running)
    running.add_argument("--target", action="append", metavar="TARGET", help=f"{FORMS}; may be given several times")
    running.add_argument("--jobs", type=int, default=os.cpu_count() or 2, metavar="N", help="how many at once")
    running.add_argument("--record", action="store_true", help="write down what real brokers did, as the new truth")
    running.set_defaults(run=_run)
    return parser


def _select(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-k", dest="expression", default="", metavar="EXPR", help="ids that match: 'pop and not order'")
    parser.add_argument("--protocol", choices=[each.value for each in Protocol], help="only cases of one protocol")


def _selection(options: argparse.Namespace) -> Selection:
    protocols = frozenset(Protocol) if options.protocol is None else frozenset({Protocol(options.protocol)})
    return Selection(expression=options.expression, protocols=protocols)


def _cases(options: argparse.Namespace) -> list[Case]:
    selection = _selection(options)
    return [case for case in all_cases() if selection.case(case)]


def _list(options: argparse.Namespace) -> int:
    for case in _cases(options):
        print(f"{case.id:60} {case.mark.protocol:9} {case.sentence}")
    return EXPECTED


def _run(options: argparse.Namespace) -> int:
    truth = Truth()
    targets = [target(text) for text in options.target or ["emulator"]]
    cases = _cases(options)
    if not cases:
        raise SelectionError("nothing matches; `rocketmq-conformance list` shows what there is")
    terminal = Terminal(sys.stdout, len(cases) * len(targets))

    def show(outcome: Outcome) -> None:
        terminal.show(outcome)

    run = carry_out(cases, targets, truth, jobs=options.jobs, each=show)
    terminal.conclude(run)
    if options.record:
        real = [each for each in targets if not isinstance(each, EmulatorTarget)]
        for name, ids in record(run, real, truth).items():
            print(f"{name}: {len(ids)} records changed")
            for id_ in ids:
                print(f"  {id_}")
        return EXPECTED if not run.problem and not run.interrupted else UNEXPECTED
    return EXPECTED if run.good else UNEXPECTED


if __name__ == "__main__":
    sys.exit(main())
