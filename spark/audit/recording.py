"""The journal of an emulator as events, read from an `Emulator` of this process or through a control port."""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import Request, urlopen

from rocketmq_testkit.emulator.kernel.masking import masked_url
from rocketmq_testkit.fixtures import Emulator
from rocketmq_testkit.fixtures.control.schema import json_form
from rocketmq_testkit.fixtures.host.host import Host
from rocketmq_testkit.fixtures.options.command_options import TOKEN_VARIABLE

from .events import Event, JournalError
from .journal_converter import events_from_journal

Answer = dict[str, Any]
_TIMEOUT_S = 60
_UNAUTHORIZED = 401


def events_of(emulator: Emulator) -> list[Event]:
    """Return the message events in the journal of an emulator, in order.

    Raises JournalError if the journal has dropped lines, or if a delivered message no longer exists.
    """
    # Lines and messages are read in one step, so that they are consistent.
    lines, messages, dropped = emulator.run_on_loop(_taken)
    _refuse_gaps(dropped)
    return events_from_journal(lines, messages)


def _taken(host: Host) -> tuple[list[Answer], list[Answer], int]:
    direct = host.direct
    lines = [json_form.entry(index, found) for index, found in enumerate(direct.journal, direct.journal.dropped)]
    messages = [json_form.message_form(found) for topic in direct.topics() for found in direct.messages(topic)]
    return lines, messages, direct.journal.dropped


def read_emulator(address: str) -> list[Event]:
    """Read events through the control port at `http://host:port`, which becomes their `run_id`.

    No request should be in flight. A control port with a token needs it in the environment variable
    ROCKETMQ_CONTROL_TOKEN. Raises JournalError, also if the port does not respond.
    """

    token = os.environ.get(TOKEN_VARIABLE)
    headers = {} if not token else {"authorization": f"Bearer {token}"}

    def ask(path: str) -> Answer:
        request = Request(f"{address.rstrip('/')}{path}", headers=headers)
        try:
            with urlopen(request, timeout=_TIMEOUT_S) as response:
                found: Answer = json.load(response)
        except HTTPError as error:
            hint = f"; set {TOKEN_VARIABLE} to its token" if error.code == _UNAUTHORIZED else ""
            raise JournalError(f"{masked_url(address)} answers {path} with status {error.code}{hint}") from None
        except (URLError, OSError, ValueError, RecursionError) as error:
            raise JournalError(f"{masked_url(address)} is no control port of an emulator: {error}") from None
        return found

    lines, dropped = _all_lines(ask)
    _refuse_gaps(dropped)
    topics = [topic["name"] for topic in ask("/v1/topics")["topics"]]
    messages = [found for topic in topics for found in ask(f"/v1/messages/{quote(topic, safe='')}")["messages"]]
    return [replace(event, run_id=masked_url(address)) for event in events_from_journal(lines, messages)]


def _all_lines(ask: Callable[[str], Answer]) -> tuple[list[Answer], int]:
    lines: list[Answer] = []
    response = ask("/v1/journal")
    while response["entries"]:
        lines += response["entries"]
        response = ask(f"/v1/journal?since={response['next']}")
    return lines, response["dropped"]


def _refuse_gaps(dropped: int) -> None:
    if dropped:
        raise JournalError(
            f"the emulator has dropped {dropped} lines of its journal, so the audit would be incomplete; "
            "set journalMaxEntries and journalMaxBytes higher"
        )
