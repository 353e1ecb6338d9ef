"""Compares the recorded runs of bench/README.md with the goals, and explains each missed one beside its floor.

    python bench/goals.py [--write]

reads the tables that `run.py --write` has written, and prints the tables of goals. `run.py --write` writes them as
well. A cell has one figure for each run. Reasons name figures of these runs by fields:

- `server`, `client`: µs of processor time for a message of the emulator; `both`: their sum
- `real_both`: the same sum with the real broker
- `between`: µs between two messages; `allowed`: the same at the goal
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass

from document import Table

PARTS = {"table": "goals", "compiled": "compiled goals"}
"""The table of goals for each table of runs."""
ORDINALS = ("first run", "second run", "third run", "fourth run")
SERVER, CLIENT, RATE = "server CPU µs/message", "client CPU µs/message", "messages/s"
NO_FIGURE = "-"
NEWER = "\nA dash marks a figure whose measurement is newer than these runs.\n"

ONE_REQUEST = "one request: {client} µs in the client, {server} µs in the server; goal {allowed} µs"
ONE_THREAD = "one thread: {server} of {between} µs; goal {allowed} µs"
BOTH_BUSY = "both busy: {both} µs of work every {between} µs; {real_both} µs with the real broker"
"""The page explains these three reasons above the tables."""
SEND = "beyond the floor are 35 calls of functions for a send; the append does a fifth of their work"
POP = (
    "a pop and an acknowledgement store a timed record each, as upstream does: 196 calls of functions for a pop of 32 "
    "and 57 for each acknowledgement"
)
GRPC = "the floor reads neither headers nor messages; beyond it are HTTP/2, HPACK and 54 calls of functions for a send"
RECEIVE = (
    "a receive of 32 is 708 calls of functions, of whose work decoding and encoding of messages are more than a half, "
    "and each acknowledgement is 82"
)
TRANSACTION = (
    "a transaction is two requests and three appends (half message, message and op message): 116 calls of functions "
    "over remoting and 140 over gRPC"
)


@dataclass(frozen=True)
class Goal:
    """The goals of a workload of `run.py`.

    `rate` is the least ratio of rates, `cpu` the largest ratio of the server's processor times (emulator / real).
    `floor` is the row of the second table with the same requests, empty if no bare server can play them.
    """

    workload: str
    rate: float
    cpu: float
    floor: str
    _: KW_ONLY
    why_rate: str
    why_cpu: str


GOALS = (
    Goal(
        "Java remoting, send, 1 thread", 1.5, 0.33, "remoting send, 1 outstanding", why_rate=ONE_REQUEST, why_cpu=SEND
    ),
    Goal(
        "Java remoting, send, 8 threads", 1.5, 0.33, "remoting send, 8 outstanding", why_rate=ONE_THREAD, why_cpu=SEND
    ),
    Goal(
        "Java remoting, send, 64 threads", 1.7, 0.33, "remoting send, 64 outstanding", why_rate=ONE_THREAD, why_cpu=SEND
    ),
    Goal(
        "Java remoting, push consumer drains 200,000",
        1.4,
        0.33,
        "remoting pull of 32, 1 outstanding",
        why_rate=BOTH_BUSY,
        why_cpu="the goal is near the floor, which only writes the 32 messages of a response",
    ),
    Goal(
        "Java remoting, pop consumer drains 50,000",
        1.6,
        0.33,
        "remoting pop of 32 + ack, 8 outstanding",
        why_rate=ONE_THREAD,
        why_cpu=POP,
    ),
    Goal("Java gRPC, send, 1 thread", 1.6, 0.45, "gRPC send, 1 outstanding", why_rate=ONE_REQUEST, why_cpu=GRPC),
    Goal("Java gRPC, send, 8 threads", 1.2, 0.60, "gRPC send, 8 outstanding", why_rate=ONE_THREAD, why_cpu=GRPC),
    Goal("Java gRPC, send, 32 threads", 1.0, 0.80, "gRPC send, 32 outstanding", why_rate=ONE_THREAD, why_cpu=GRPC),
    Goal(
        "Java remoting with TLS, send, 64 threads",
        1.0,
        0.33,
        "remoting send with TLS, 64 outstanding",
        why_rate=ONE_THREAD,
        why_cpu=f"as without TLS: {SEND}",
    ),
    Goal(
        "Java gRPC with TLS, send, 32 threads",
        1.2,
        0.80,
        "gRPC send with TLS, 32 outstanding",
        why_rate=ONE_THREAD,
        why_cpu=f"as without TLS: {GRPC}",
    ),
    Goal(
        "Java gRPC, FIFO send, 8 threads, one message group",
        1.0,
        0.60,
        "gRPC FIFO send, 8 outstanding",
        why_rate=ONE_THREAD,
        why_cpu="as an ordinary send, with 64 calls of functions; the floor reads neither headers nor messages",
    ),
    Goal(
        "Java gRPC, FIFO receive 32 + ack, 1 thread",
        1.2,
        0.45,
        "gRPC FIFO receive 32 + ack, 1 outstanding",
        why_rate=ONE_REQUEST,
        why_cpu=f"as an ordinary receive: {RECEIVE}",
    ),
    Goal(
        "Java remoting, send with a delay level, 8 threads",
        1.0,
        0.33,
        "remoting send with a delay level, 8 outstanding",
        why_rate=ONE_THREAD,
        why_cpu="58 calls of functions, beside 35 for an ordinary send: the message is stored for another topic, "
        "with a timer",
    ),
    Goal(
        "Java gRPC, send with a delivery time, 8 threads",
        1.0,
        0.60,
        "gRPC send with a delivery time, 8 outstanding",
        why_rate=f"the message becomes a timed record, with a timer; {ONE_THREAD}",
        why_cpu="88 calls of functions, beside 54 for an ordinary send: the message becomes a timed record, "
        "with a timer",
    ),
    Goal(
        "Java remoting, committed transactions",
        1.0,
        0.33,
        "remoting transactions, 8 outstanding",
        why_rate=BOTH_BUSY,
        why_cpu=TRANSACTION,
    ),
    Goal(
        "Java gRPC, committed transactions",
        1.0,
        0.80,
        "gRPC transactions, 8 outstanding",
        why_rate=BOTH_BUSY,
        why_cpu=TRANSACTION,
    ),
    Goal(
        "Java gRPC, receive 32 + ack, 1 thread",
        1.2,
        0.45,
        "gRPC receive 32 + ack, 1 outstanding",
        why_rate=ONE_REQUEST,
        why_cpu=RECEIVE,
    ),
    Goal(
        "Java gRPC, receive 32 + ack, 8 threads",
        1.2,
        0.60,
        "gRPC receive 32 + ack, 8 outstanding",
        why_rate=ONE_THREAD,
        why_cpu=RECEIVE,
    ),
    Goal(
        "Java remoting, transactions that are checked and then committed",
        1.0,
        0.33,
        "",
        why_rate=ONE_THREAD,
        why_cpu="each transaction is stored again for its check, and the client responds to the check by a request",
    ),
)
"""The goals of each workload, in the order of the tables. A reason is shown in runs that miss the goal."""

Figures = Mapping[str, tuple[float, float, float]]
"""Emulator, real broker or bare server, and ratio, by the names of the rows of a run."""


def runs(recorded: str) -> Sequence[Figures]:
    """Return the figures of each run, from the tables that `run.py` has written."""
    found = []
    for part in recorded.split("| workload |")[1:]:
        figures: dict[str, tuple[float, float, float]] = {}
        for line in part.splitlines():
            name, *cells = [cell.strip() for cell in line.split("|")[1:-1]] or [""]
            if len(cells) == 3 and cells[0][:1].isdigit():
                ours, theirs, ratio = (float(cell.replace(",", "")) for cell in cells)
                figures[name] = ours, theirs, ratio
        found.append(figures)
    return found


Figure = Callable[[Figures], float]
"""Returns a figure of a run. Raises KeyError if the run does not have it."""


def _of(row: str, place: int) -> Figure:
    """Return the figure at a place of a row: 0 emulator, 1 real broker or bare server, 2 ratio."""
    return lambda run: run[row][place]


def _joined(found: Sequence[Figures], figure: Figure, digits: int = 0) -> str:
    """Return a figure of each run as one text; a dash if a run does not have it."""
    try:
        return " / ".join(f"{figure(run):,.{digits}f}" for run in found)
    except KeyError:
        return NO_FIGURE


def _why(reason: str, goal: Goal, found: Sequence[Figures]) -> str:
    """Return a reason with the figures of its fields."""
    (rate, real_rate), (server, real_server), (client, real_client) = (
        (_of(f"{goal.workload}, {row}", 0), _of(f"{goal.workload}, {row}", 1)) for row in (RATE, SERVER, CLIENT)
    )
    return reason.format(
        server=_joined(found, server),
        client=_joined(found, client),
        both=_joined(found, lambda run: server(run) + client(run)),
        real_both=_joined(found, lambda run: real_server(run) + real_client(run)),
        between=_joined(found, lambda run: 1e6 / rate(run)),
        allowed=_joined(found, lambda run: 1e6 / (goal.rate * real_rate(run))),
    )


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _rate(goal: Goal, found: Sequence[Figures]) -> str:
    """Return the line of a goal for the rate."""
    ratios = [_of(f"{goal.workload}, {RATE}", 2)(run) for run in found]
    why = _why(goal.why_rate, goal, found) if min(ratios) < goal.rate else ""
    return _line(goal.workload, f"{goal.rate:.1f}", *(f"{each:.2f}" for each in ratios), why)


def _processor_time(goal: Goal, found: Sequence[Figures]) -> str:
    """Return the line of a goal for the server's processor time."""
    row, floor = f"{goal.workload}, {SERVER}", f"{goal.floor}, {SERVER}"
    ratios = [_of(row, 2)(run) for run in found]
    why = _why(goal.why_cpu, goal, found) if max(ratios) > goal.cpu else ""
    most = _joined(found, lambda run: goal.cpu * _of(row, 1)(run))
    floors = [_joined(found, _of(floor, place), 1) if goal.floor else "none" for place in (1, 0)]
    return _line(goal.workload, f"{goal.cpu:.2f}", *(f"{each:.2f}" for each in ratios), most, *floors, why)


@dataclass(frozen=True)
class Most:
    """A goal that is no ratio to the real broker. `name` ends with the unit, and `most` is the largest value.

    `floor` is None if a bare server has no such figure.
    """

    name: str
    most: float
    digits: int
    value: Figure
    _: KW_ONLY
    floor: Figure | None
    why: str


IDLE, FILLED = "resident memory, idle, MiB", "resident memory after 200,000 messages of 1 KiB, MiB"
READY = "start until the ready line, ms"
IN_PROCESS = "start and stop in a process of tests, ms"
OUTSTANDING = f"remoting send, 64 outstanding, {SERVER}"
OTHERS = (
    Most(
        "remoting send, 64 outstanding, times the floor (floor in µs)",
        3,
        1,
        _of(OUTSTANDING, 2),
        floor=_of(OUTSTANDING, 1),
        why="64 requests arrive in one read, in which the floor only finds their ends",
    ),
    Most(
        "memory of a message of 1 KiB with the default journal, KiB",
        1.4,
        2,
        lambda run: (run[FILLED][0] - run[IDLE][0]) * 1024 / 200_000,
        floor=None,
        why="the journal keeps an entry of each request",
    ),
    Most(
        IDLE,
        40,
        0,
        _of(IDLE, 0),
        floor=_of(IDLE, 1),
        why="beyond the floor are the loaded modules of the emulator and of its libraries",
    ),
    Most(
        READY,
        170,
        0,
        _of(READY, 0),
        floor=_of(READY, 1),
        why="beyond the floor the process loads the modules of the emulator; without compiled ones it takes 298 ms "
        "from an installed package ([The executable](#the-executable)), where no import goes through the finder "
        "of an editable installation",
    ),
    Most(
        IN_PROCESS,
        2,
        2,
        _of(IN_PROCESS, 0),
        floor=_of(IN_PROCESS, 1),
        why="an engine with its system topics, the proxy and the control port are created for each test",
    ),
)


def _other(goal: Most, found: Sequence[Figures]) -> str:
    """Return the line of a goal that is no ratio to the real broker."""
    values = _joined(found, goal.value, goal.digits)
    is_missed = values != NO_FIGURE and max(goal.value(run) for run in found) > goal.most
    shown = [NO_FIGURE] * len(found) if values == NO_FIGURE else values.split(" / ")
    floor = "none" if goal.floor is None else _joined(found, goal.floor, goal.digits)
    return _line(goal.name, f"{goal.most:g}", *shown, floor, goal.why if is_missed else "")


def text(recorded: str) -> str:
    """Return the tables of goals for recorded tables, as Markdown."""
    found = runs(recorded)
    numbers, why = ORDINALS[: len(found)], "why it is missed"
    heads = (
        ("messages/s, emulator / real broker", "at least", *numbers, why),
        (
            "server CPU, emulator / real broker",
            "at most",
            *numbers,
            "at most, µs",
            "floor, µs",
            "emulator beside it, µs",
            why,
        ),
        ("other goal", "at most", *numbers, "floor", why),
    )
    lines = (
        [_rate(goal, found) for goal in GOALS],
        [_processor_time(goal, found) for goal in GOALS],
        [_other(goal, found) for goal in OTHERS],
    )
    tables = []
    for head, rows in zip(heads, lines, strict=True):
        rule = f"|{'|'.join(('---', *['---:'] * (len(head) - 2), '---'))}|"
        tables.append("\n".join((_line(*head), rule, *rows)) + "\n")
    whole = "\n".join(tables)
    return whole + NEWER if f"| {NO_FIGURE} |" in whole else whole


def write(recorded: Table) -> None:
    """Write the goals of a table of runs into bench/README.md."""
    Table(PARTS[recorded.name]).write(text(recorded.read()))


def main() -> None:
    """Print the goals of each recorded table; with `--write`, also write them."""
    parser = argparse.ArgumentParser(description="Compare the recorded runs with the goals.")
    parser.add_argument("--write", action="store_true", help="write the tables to bench/README.md")
    options = parser.parse_args()
    for name in PARTS:
        recorded = Table(name)
        if recorded.read():
            print(text(recorded.read()))
            if options.write:
                write(recorded)


if __name__ == "__main__":
    main()
