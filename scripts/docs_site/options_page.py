"""Page of the options of all commands, as their `--help` shows them."""

import argparse
import os
from collections.abc import Callable, Iterator, Mapping

from pyspark_rocketmq.audit import command as audit_command
from pyspark_rocketmq.replay import command as replay_command
from rocketmq_testkit.conformance import command as conformance_command
from rocketmq_testkit.fixtures.options import command_options

HEAD = """\
# Command-line options

Made from the commands themselves: each section is the output of `--help`.
"""
PARSERS: Mapping[str, Callable[[], argparse.ArgumentParser]] = {
    "rocketmq-emulator": command_options.parser,
    "rocketmq-conformance": conformance_command.parser,
    "rocketmq-audit": audit_command.parser,
    "rocketmq-replay": replay_command.parser,
}
"""The parser of each command that the package installs."""


def page() -> str:
    """Render the whole page."""
    columns = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "100"  # argparse reads the width of help there
    try:
        sections = [_section(name, each) for make in PARSERS.values() for name, each in _commands(make())]
    finally:
        if columns is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = columns
    return "\n".join((HEAD, *sections))


def _commands(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Yield a parser and those of its subcommands, with their names."""
    yield parser.prog, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):  # argparse has no public name for it
            for name, each in action.choices.items():
                yield f"{parser.prog} {name}", each


def _section(name: str, parser: argparse.ArgumentParser) -> str:
    return f"## {name}\n\n```text\n{parser.format_help().strip()}\n```\n"
