"""The benchmark: warm clients, one running server at a time, two recorded runs with the CPU time of clients, goals."""

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from queue import Queue
from types import SimpleNamespace
from typing import Any

import pytest
from rocketmq_testkit.conformance.clients.remoting_topics import max_offset_request
from rocketmq_testkit.emulator.compiled_modules import CompiledFinder
from rocketmq_testkit.remoting.client import RemotingClient

ROOT = Path(__file__).resolve().parents[2]
BENCH = ROOT / "bench"
CPU_SECONDS = 0.1
"""Processor time that the threads of a round use. The kernel counts it in hundredths of a second."""
STOPPED = "T"


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The modules of the folder `bench`, which is no package."""
    monkeypatch.syspath_prepend(BENCH)
    import bare
    import document
    import first_test
    import fresh
    import goals
    import joins
    import outstanding
    import recording
    import run
    import servers
    import suites
    import warm_up
    import workloads

    return SimpleNamespace(
        first_test=first_test,
        fresh=fresh,
        bare=bare,
        document=document,
        goals=goals,
        joins=joins,
        outstanding=outstanding,
        recording=recording,
        run=run,
        servers=servers,
        suites=suites,
        warm_up=warm_up,
        workloads=workloads,
    )


def burn(seconds: float) -> None:
    """Use processor time in this thread."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def state_of(process: int) -> str:
    """Return the letter of the state of a process."""
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]


@pytest.fixture
def waiting() -> "Iterator[subprocess.Popen[bytes]]":
    """A process that stands for the server that is not measured."""
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as process:
        yield process
        process.kill()


def until_stopped(process: int) -> None:
    """Wait until the process has stopped, because the call that sends the signal returns earlier."""
    deadline = time.monotonic() + 60
    while state_of(process) != STOPPED:
        assert time.monotonic() < deadline


def test_the_other_server_is_stopped_during_a_round(
    bench: Any, waiting: "subprocess.Popen[bytes]", monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each server is measured twice, once as the first one; meanwhile the other server is stopped."""
    servers = [SimpleNamespace(name=name, pids=[waiting.pid]) for name in ("one", "other")]
    rounds: list[str] = []

    def work(server: SimpleNamespace) -> Any:
        until_stopped(waiting.pid)
        rounds.append(server.name)
        return bench.workloads.Figure(len(rounds), 1.0, 1.0)

    monkeypatch.setattr(bench.run, "catch_up", lambda _server: None)
    ones, others = bench.run.quicker_rounds(work, *servers)
    assert rounds == ["one", "other", "other", "one"]
    assert (ones.per_second, others.per_second) == (4, 3)
    assert state_of(waiting.pid) != STOPPED


def test_a_client_is_warmed_up_until_its_compiler_is_idle(bench: Any) -> None:
    """A thread with the name of a JVM's compiler is busy in the first four rounds, and the fifth is the last."""
    rounds: Queue[bool | None] = Queue()

    def compile_in_rounds() -> None:
        Path(f"/proc/self/task/{threading.get_native_id()}/comm").write_text("C2 CompilerThread0"[:15])
        for is_busy in iter(rounds.get, None):
            burn(CPU_SECONDS if is_busy else 0)
            rounds.task_done()

    def work() -> None:
        done.append(len(done) < 4)
        rounds.put(done[-1])
        burn(CPU_SECONDS)
        rounds.join()

    done: list[bool] = []
    compiler = threading.Thread(target=compile_in_rounds)
    compiler.start()
    try:
        assert bench.warm_up.FULL.run(SimpleNamespace(pids=[os.getpid()]), work) == len(done) == 5
    finally:
        rounds.put(None)
        compiler.join()


def test_the_record_has_two_runs_with_the_processor_time_of_clients(bench: Any) -> None:
    """Both runs have the same three rows for each workload, and each run was made on one day.

    The page lists workloads that are newer than the record below it.
    """
    text = (BENCH / "README.md").read_text()
    _, begun, rest = text.partition("<!-- table begins -->")
    recorded, _, rest = rest.partition("<!-- table ends -->")
    newer = re.findall(r"^- (.+)$", rest.partition("##")[0].partition("Rows without a record:")[2], re.MULTILINE)
    days = re.findall(r"^(\d{4}-\d\d-\d\d), Apache RocketMQ 5\.3\.3, Python ", recorded, re.MULTILINE)
    runs = [re.findall(r"^\| ([^|]+?) \| [\d,]+ \|", part, re.MULTILINE) for part in recorded.split("| workload |")[1:]]
    assert begun
    assert len(days) == len(runs) == 2
    assert runs[0] == runs[1]
    rows = ("messages/s", "server CPU µs/message", "client CPU µs/message")
    names = [*(name for name, *_ in bench.run.WORKLOADS), bench.run.CHECKS]
    without = [name for name in names if not all(f"{name}, {each}" in runs[0] for each in rows)]
    assert without == newer


@pytest.mark.parametrize(
    ("page", "last"), [(0, "mvn -q test"), (1, "go test ./..."), (2, "node --test --test-force-exit")]
)
def test_the_first_test_of_a_page_is_measured_from_the_variable_to_the_command_of_the_test(
    bench: Any, page: int, last: str
) -> None:
    commands = bench.first_test.commands(bench.first_test.PAGES[page], Path("/tree"))
    assert commands.startswith("export ROCKETMQ_EMULATOR=/tree/dist/rocketmq-emulator\n")
    assert commands.rstrip().splitlines()[-1] == last
    assert "/path/to" not in commands


def test_the_table_of_first_tests_is_written_between_its_marks(
    bench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other text of bench/README.md stays; the record there has the columns and the pages of the script."""
    module = bench.first_test
    page = tmp_path / "README.md"
    page.write_text((BENCH / "README.md").read_text())
    monkeypatch.setattr(module, "README", page)
    taken = {each.name: module.Taken(10.4, 3.0) for each in module.PAGES}
    before, _, rest = page.read_text().partition(module.BEGIN)
    recorded, _, after = rest.partition(module.END)
    module.write(module.table(taken, module.Taken(60.0, 50.0), 0.25))

    assert page.read_text().startswith(before + module.BEGIN)
    assert page.read_text().endswith(module.END + after)
    assert "| Go | 10 | 3 | 70 |\n" in page.read_text()
    assert module.COLUMNS in recorded
    assert re.findall(r"^\| (\w+) \| \d", recorded, re.MULTILINE) == [each.name for each in module.PAGES]


@pytest.mark.parametrize("kind", ["NORMAL", "FIFO", "DELAY", "TRANSACTION"])
def test_the_bare_server_returns_the_recorded_responses(bench: Any, kind: str) -> None:
    """It serves each workload that is measured with it, with a client that checks each response."""
    rows = [row for row in bench.outstanding.ROWS.values() if row.kind == kind]
    assert rows
    with bench.servers.EmulatorCommand() as emulator:
        for row in rows:
            row.prepare(emulator, 256)
            record = bench.recording.recorded(emulator, row)
            assert bool(record.certificate) == row.tls
            with ExitStack() as stack:
                twin = stack.enter_context(bench.bare.BareServer(record))
                row.work(twin, stack)(64)


def test_the_bare_server_closes_a_connection_without_a_recorded_response(bench: Any) -> None:
    row = bench.outstanding.ROWS["remoting send, 1 outstanding"]
    with ExitStack() as stack:
        silent = stack.enter_context(bench.bare.BareServer(bench.bare.Record()))
        with pytest.raises(ConnectionError):
            row.work(silent, stack)(1)


@pytest.mark.parametrize(
    ("name", "stored"),
    [
        ("remoting transactions, 8 outstanding", 16),
        ("gRPC transactions, 8 outstanding", 16),
        ("gRPC FIFO send, 8 outstanding", 16),
        ("remoting send with a delay level, 8 outstanding", 0),
        ("gRPC send with a delivery time, 8 outstanding", 0),
    ],
)
def test_the_messages_of_a_workload_are_committed_or_delayed(bench: Any, name: str, stored: int) -> None:
    """A commit stores the message under its topic. A message with a delay is stored there only when it is due."""
    row, topic = bench.outstanding.ROWS[name], bench.outstanding.TOPIC
    with bench.servers.EmulatorCommand() as emulator:
        row.prepare(emulator, 0)
        with ExitStack() as stack:
            row.work(emulator, stack)(16)
        with RemotingClient(emulator.broker) as client:
            found = [client.request(*max_offset_request(topic, queue)).ext_fields or {} for queue in range(8)]
    offsets = [int(each["offset"]) for each in found]
    assert sum(offsets) == stored
    assert row.kind != "FIFO" or max(offsets) == stored, "a message group is in one queue"


def test_each_workload_has_goals_and_each_floor_is_measured(bench: Any) -> None:
    goals = bench.goals.GOALS
    names = [*(name for name, *_ in bench.run.WORKLOADS), bench.run.CHECKS]
    assert [goal.workload for goal in goals] == names
    floors = {goal.floor for goal in goals}
    assert floors - {""} <= set(bench.outstanding.ROWS)
    assert [goal.workload for goal in goals if not goal.floor] == [bench.run.CHECKS]


def cells_of(lines: str) -> list[list[str]]:
    """Return the cells of the rows of a table, without head and rule."""
    rows = [line for line in lines.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in row.split("|")[1:-1]] for row in rows[1:]]


def test_the_page_compares_the_recorded_runs_with_the_goals_and_explains_each_missed_one(bench: Any) -> None:
    """A row has a reason exactly if a run misses its goal. `python bench/goals.py --write` writes the tables."""
    for name, goals in bench.goals.PARTS.items():
        recorded = bench.document.Table(name).read()
        written = bench.document.Table(goals).read()
        assert written == (bench.goals.text(recorded) if recorded else "")
        if not recorded:
            continue
        rates, processor_times, others, *_ = written.split("\n\n")
        for table, is_least in ((rates, True), (processor_times, False), (others, False)):
            for _, goal, *cells in cells_of(table):
                runs, why = [float(each) for each in cells[:2] if each != "-"], cells[-1]
                is_missed = any(each < float(goal) if is_least else each > float(goal) for each in runs)
                assert bool(why) == is_missed, cells
                assert "{" not in why


def test_a_reason_has_the_figures_of_both_runs(bench: Any) -> None:
    recorded = ""
    for per_second, server, client in ((1_000, 200, 300), (2_000, 100, 150)):
        recorded += "| workload | emulator | real broker | ratio |\n|---|---:|---:|---:|\n"
        for goal in bench.goals.GOALS:
            recorded += f"| {goal.workload}, messages/s | {per_second:,} | 2,000 | {per_second / 2_000:.2f} |\n"
            recorded += f"| {goal.workload}, server CPU µs/message | {server} | 400 | {server / 400:.2f} |\n"
            recorded += f"| {goal.workload}, client CPU µs/message | {client} | 40 | {client / 40:.2f} |\n"
    rates, processor_times, others, newer = bench.goals.text(recorded).split("\n\n")
    first = cells_of(rates)[0]
    assert first[:4] == ["Java remoting, send, 1 thread", "1.5", "0.50", "1.00"]
    assert "300 / 150 µs in the client, 200 / 100 µs in the server" in first[4]
    assert "goal 333 / 333 µs" in first[4]
    assert cells_of(processor_times)[0][:7] == [first[0], "0.33", "0.50", "0.25", "132 / 132", "-", "-"]
    assert cells_of(others)[0][1:] == ["3", "-", "-", "-", ""]
    assert newer == "A dash marks a figure whose measurement is newer than these runs.\n"


@pytest.mark.parametrize("is_compiled", [True, False])
def test_a_run_is_written_where_the_used_modules_belong(
    bench: Any, monkeypatch: pytest.MonkeyPatch, is_compiled: bool
) -> None:
    """Compiled modules that a variable turns off do not count, although they are installed."""
    others = [each for each in sys.meta_path if not isinstance(each, CompiledFinder)]
    monkeypatch.setattr(sys, "meta_path", [*([CompiledFinder({})] if is_compiled else []), *others])
    assert bench.run.place() == (bench.run.COMPILED if is_compiled else bench.run.PURE)


@pytest.mark.parametrize("target", ["bench", "bench-compiled"])
def test_make_writes_all_that_it_measures(target: str) -> None:
    """Each measurement of the target writes its table to bench/README.md."""
    recipe = (ROOT / "Makefile").read_text().partition(f"\n{target}: ")[2].partition("\n\n")[0]
    measurements = [line for line in recipe.splitlines() if "python bench/" in line]
    assert measurements
    assert [line for line in measurements if not line.endswith(" --write")] == []


@pytest.mark.parametrize("name", ["table", "goals", "suites", "fresh", "joins", "growth", "testkit"])
def test_the_page_has_a_place_for_each_table(bench: Any, name: str) -> None:
    begin, end = bench.document.Table(name).marks
    page = bench.document.README.read_text()
    assert page.count(begin) == page.count(end) == 1
    assert page.index(begin) < page.index(end)


def test_a_table_without_a_place_is_not_written(bench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "README.md"
    page.write_text("text\n")
    monkeypatch.setattr(bench.document, "README", page)
    with pytest.raises(LookupError, match="has no line <!-- goals begins -->; add it where the table belongs"):
        bench.document.Table("goals").write("rows\n")
    bench.document.Table("new", "## New\n").write("rows\n")
    assert page.read_text() == "text\n\n## New\n\n<!-- new begins -->\nrows\n<!-- new ends -->\n"


def test_the_table_of_joins_has_the_servers_beside_each_other(bench: Any) -> None:
    rows = {
        "emulator": [("join", 2, 0.5, 1), ("leave", 0, 0.25, 1)],
        "Apache 5.3.3": [("join", 2, 1.0, 3), ("leave", 0, 2.0, 1_000)],
    }
    lines = bench.joins.table(rows, 2, at_once=False).splitlines()
    assert lines[0].endswith("; 2 members, one member after the other.")
    assert lines[4:] == ["| join | 2 | 0.50 | 1 | 1.00 | 3 |", "| leave | 0 | 0.25 | 1 | 2.00 | 1,000 |"]


def test_members_send_heartbeats_while_others_join_and_leave(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A heartbeat of a member is no join: the k-th join notifies k members. All members leave in the end."""
    monkeypatch.setattr(bench.joins, "HEARTBEAT_SECONDS", 0)
    with bench.servers.EmulatorCommand() as emulator:
        rows = bench.joins.joins(emulator, 10, at_once=False)
    assert [(what, size, notices) for what, size, _, notices in rows[:5]] == [
        ("join", 2, 3),
        ("join", 4, 7),
        ("join", 6, 11),
        ("join", 8, 15),
        ("join", 10, 19),
    ]
    assert [(what, size) for what, size, _, _ in rows[5:]] == [("leave", size) for size in (8, 6, 4, 2, 0)]


def test_a_start_and_stop_is_measured_beside_that_of_ports_alone(bench: Any) -> None:
    """Each round has times of both. The columns of the table are the steps' medians."""
    rounds = bench.fresh.measured(2)
    assert all(each > 0 for servers in rounds for times in servers for each in times)
    rows = cells_of(bench.fresh.table(rounds).partition("\n\n")[2])
    assert [(name, len(figures)) for name, *figures in rows] == [("start until a client is connected", 3), ("stop", 3)]


def test_the_recorded_suites_are_those_of_the_script(bench: Any) -> None:
    recorded = cells_of(bench.document.Table("suites").read())
    assert [name for name, *_ in recorded] == [f"{tests} tests, {name}" for name, tests, _ in bench.suites.SUITES]


@pytest.mark.parametrize("page", ["README.md", "README.zh-CN.md"])
def test_the_figures_of_a_readme_are_recorded_ones(bench: Any, page: str) -> None:
    """The figures are those of the first run, and the median of a start in a process of tests."""
    first = bench.document.Table("table").read().partition("| with a bare server |")[0]
    starts = {name: cells for name, *cells in cells_of(first)}
    first_send, idle = starts["start until first acknowledged send, ms"], starts["resident memory, idle, MiB"]
    quoted = re.findall(r"\| ([\d.,]+) (ms|MiB) \|(?: ([\d.,]+) \2)? \|", (ROOT / page).read_text())
    fixture = next(row for row in cells_of(bench.document.Table("testkit").read()) if row[1] == "rocketmq-testkit")
    assert fixture[0] == "start until the first response"
    assert quoted == [
        (f"{float(fixture[4]):.1f}", "ms", ""),
        (first_send[0], "ms", first_send[1]),
        (idle[0], "MiB", idle[1]),
    ]
