"""The benchmark: warm clients, one running server at a time, and two recorded runs with the CPU time of clients."""

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"
WARM_UP_MIN = 60_000
"""Messages of the warm-up. With fewer, the JIT compiler of a Java client takes a third of the measured time."""
STOPPED = "T"


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The modules of the folder `bench`, which is no package."""
    monkeypatch.syspath_prepend(BENCH)
    import bare
    import first_test
    import outstanding
    import run
    import servers
    import workloads

    return SimpleNamespace(
        first_test=first_test,
        bare=bare,
        outstanding=outstanding,
        run=run,
        servers=servers,
        workloads=workloads,
    )


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

    def work(server: Any) -> Any:
        until_stopped(waiting.pid)
        rounds.append(server.name)
        return bench.workloads.Figure(len(rounds), 1.0, 1.0)

    monkeypatch.setattr(bench.run, "catch_up", lambda _server: None)
    ones, others = bench.run.quicker_rounds(work, *servers)
    assert rounds == ["one", "other", "other", "one"]
    assert (ones.per_second, others.per_second) == (4, 3)
    assert state_of(waiting.pid) != STOPPED


def test_clients_are_warm_before_a_round(bench: Any) -> None:
    assert bench.workloads.WARM_UP_MESSAGES >= WARM_UP_MIN


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


def test_the_bare_server_returns_the_recorded_responses(bench: Any) -> None:
    """It serves each workload that is measured with it, with a client that checks each response."""
    with ExitStack() as stack:
        emulator = stack.enter_context(bench.servers.EmulatorCommand())
        bench.servers.create_topic(emulator, bench.outstanding.TOPIC)
        bench.outstanding.remoting_send(64, emulator, stack)(128)
        record = bench.bare.recorded(emulator)
        twin = stack.enter_context(bench.bare.BareServer(record))
        for make, _ in bench.outstanding.ROWS.values():
            make(twin, stack)(64)
        record.remoting = {}
        silent = stack.enter_context(bench.bare.BareServer(record))
        with pytest.raises(ConnectionError):
            bench.outstanding.remoting_send(1, silent, stack)(1)
