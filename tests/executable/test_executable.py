"""The executable: its options, its ready line and its exit codes are those of the installed command."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import ANY_PORTS, INSTALLED
from hidden_python import interpreters, namespace
from killed_parent import END_SECONDS_MAX, check_emulator_ends_with

ROOT = Path(__file__).resolve().parents[2]
SIZE_MAX = 36_000_000
pytestmark = pytest.mark.executable
STARTED = 'for program; do "$program" --version >/dev/null 2>&1 && echo "$program"; done; true'
"""A shell script that prints the programs that start, of those in its arguments."""

PARENT = """
import subprocess
child = subprocess.Popen({words!r}, stdin=subprocess.{stdin})
input()
"""
"""A program that starts the executable, which prints its ready line, and waits."""


@pytest.fixture(scope="module")
def executable() -> str:
    """The path of the executable, built from this tree."""
    subprocess.run([sys.executable, "scripts/build_executable.py"], cwd=ROOT, check=True, timeout=600)
    return str(ROOT / "dist" / "rocketmq-emulator")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache for this test."""
    monkeypatch.setenv("ROCKETMQ_EMULATOR_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def output(command: str, *words: str, **variables: str) -> tuple[int, str, str]:
    """Run a command to its end; return exit code, standard output and standard error."""
    done = subprocess.run(
        [command, *words],
        env={**os.environ, **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def started(*words: str) -> Iterator[tuple[subprocess.Popen[str], dict[str, object]]]:
    """Start the command; yield its process and its ready line, and kill it at the end."""
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process, json.loads(process.stdout.readline())
        process.kill()


def test_one_file_is_at_most_36_megabytes(executable: str) -> None:
    assert Path(executable).stat().st_size <= SIZE_MAX


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["--version"],
        ["--nonsense"],
        ["--topic", "orders:NONSENSE"],
        ["--profile", "fastest"],
        ["--tls", "maybe"],
        ["topics", "--help"],
        ["topics", "list", "--control", "http://127.0.0.1:1"],
        ["nonsense"],
    ],
    ids=" ".join,
)
def test_text_and_exit_code_are_those_of_the_installed_command(executable: str, words: list[str]) -> None:
    assert output(executable, *words) == output(INSTALLED, *words)


def test_taken_port_is_the_sentence_of_the_installed_command(executable: str) -> None:
    for _, ready in started(INSTALLED, *ANY_PORTS):
        port = str(ready["namesrv"]).rpartition(":")[2]
        words = [*ANY_PORTS, "--namesrv-port", port]
        found = output(executable, *words)
        assert found == output(INSTALLED, *words)
        assert found[0] == 2


def test_ready_line_and_exit_code_after_a_signal_are_those_of_the_installed_command(executable: str) -> None:
    seen = []
    for command in (INSTALLED, executable):
        for process, ready in started(command, *ANY_PORTS, "--topic", "orders", "--log-level", "error"):
            process.send_signal(signal.SIGTERM)
            seen.append((list(ready), re.sub(r":\d+", ":PORT", json.dumps(ready)), process.wait(10)))
    assert seen[0] == seen[1]
    assert seen[0][2] == 0


@pytest.mark.parametrize("stdin", ["PIPE", "DEVNULL"])
def test_executable_ends_with_its_killed_parent(executable: str, stdin: str) -> None:
    """The program replaces its launcher, so that the pipe, the process id and signals are its own."""
    program = PARENT.format(words=[executable, *ANY_PORTS, "--exit-with-parent"], stdin=stdin)
    for parent, _ in started(sys.executable, "-c", program):
        check_emulator_ends_with(parent)


def test_end_of_standard_input_ends_the_executable_with_code_0(executable: str) -> None:
    for process, _ in started(executable, *ANY_PORTS, "--exit-with-parent"):
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(END_SECONDS_MAX) == 0


def test_no_python_and_no_installed_command_starts_in_the_namespace(executable: str) -> None:
    pythons = ["python3", sys.executable, "/usr/bin/python3", *map(str, interpreters()), INSTALLED]
    words = ["sh", "-c", STARTED, "sh", *pythons, executable]
    outside = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    assert {"python3", sys.executable, INSTALLED, executable} <= set(outside.stdout.splitlines())
    inside = subprocess.run([*namespace(), *words], capture_output=True, text=True, timeout=60, check=True)
    assert inside.stdout.splitlines() == [executable]


def test_executable_serves_on_a_machine_without_python(executable: str, cache: Path) -> None:
    prefix = str(Path(sys.base_prefix))
    for process, ready in started(*namespace(), executable, *ANY_PORTS):
        maps = Path(f"/proc/{process.pid}/maps").read_text()
        assert str(ready["control"]).startswith("http://127.0.0.1:")
        assert str(cache) in maps
        assert prefix not in maps


def test_executable_serves_the_web_console(executable: str, cache: Path) -> None:
    for _, ready in started(executable, *ANY_PORTS):
        request = urllib.request.Request(f"{ready['control']}/", headers={"accept": "text/html"})
        assert b"/console/web/main.js" in urllib.request.urlopen(request, timeout=20).read()
        for file in ("main.js", "views/overview.js", "base.css", "icon.svg"):
            assert urllib.request.urlopen(f"{ready['control']}/console/web/{file}", timeout=20).read()


def test_first_start_unpacks_and_the_next_uses_it(executable: str, cache: Path) -> None:
    output(executable, "--version")
    [folder] = cache.iterdir()
    before = (folder / "rocketmq-emulator").stat()
    assert output(executable, "--version")[0] == 0
    assert [each.name for each in cache.iterdir()] == [folder.name]
    assert (folder / "rocketmq-emulator").stat().st_ino == before.st_ino


def test_simultaneous_first_starts_share_one_folder(executable: str, cache: Path) -> None:
    starting = [subprocess.Popen([executable, "--version"], stdout=subprocess.DEVNULL) for _ in range(4)]
    assert [each.wait(60) for each in starting] == [0, 0, 0, 0]
    assert len(list(cache.iterdir())) == 1


@pytest.mark.parametrize("damage", [lambda file: file.unlink(), lambda file: file.write_bytes(b"x" * 9)])
def test_damaged_cache_is_unpacked_again(executable: str, cache: Path, damage: object) -> None:
    expected = output(executable, "--help")
    [library] = cache.glob("*/_internal/libpython*")
    assert callable(damage)
    damage(library)
    assert output(executable, "--help") == expected
    assert library.stat().st_size > 9


def test_changed_byte_of_a_file_in_the_cache_is_found(executable: str, cache: Path) -> None:
    output(executable, "--help")
    [file] = cache.glob("*/_internal/modules")
    before = file.stat()
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert output(executable, "--version")[0] == 0
    assert file.read_bytes() != bytes(content)


def test_copied_cache_is_compared_once_and_used(executable: str, cache: Path, tmp_path: Path) -> None:
    """A copied cache has other time stamps. The first start compares the hashes and writes new stamps."""
    output(executable, "--version")
    copy = tmp_path / "copy"
    shutil.copytree(cache, copy, symlinks=True)
    [stamps] = copy.glob("*/.stamps")
    copied = stamps.read_text()
    [modules] = copy.glob("*/_internal/modules")
    inode = modules.stat().st_ino
    seen = []
    for _ in range(2):
        assert output(executable, "--version", ROCKETMQ_EMULATOR_CACHE=str(copy))[0] == 0
        seen.append((stamps.read_text(), stamps.stat().st_ino))
    assert modules.stat().st_ino == inode
    assert seen[0] == seen[1]
    assert seen[0][0] != copied


def test_damaged_download_is_one_sentence(executable: str, cache: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copyfile(executable, copy)
    copy.chmod(0o755)
    with copy.open("r+b") as file:
        file.seek(-10_000_000, os.SEEK_END)
        byte = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte[0] ^ 1]))
    text = f"rocketmq-emulator: {copy}: the file is damaged, its content has another hash; build or download it again\n"
    assert output(str(copy), "--version") == (2, "", text)
    assert list(cache.iterdir()) == []

    os.truncate(copy, copy.stat().st_size - 1)
    text = f"rocketmq-emulator: {copy}: the file is incomplete; build or download it again\n"
    assert output(str(copy), "--version") == (2, "", text)


def test_cache_of_other_users_is_refused(executable: str, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    assert output(executable, "--version", ROCKETMQ_EMULATOR_CACHE=str(shared)) == (
        2,
        "",
        f"rocketmq-emulator: ROCKETMQ_EMULATOR_CACHE={shared}: other users can write to this folder; "
        "name a folder that this user can write to\n",
    )


def test_machine_without_home_uses_the_temporary_folder(executable: str, tmp_path: Path) -> None:
    environment = {"HOME": "/proc/nonexistent", "XDG_CACHE_HOME": "", "ROCKETMQ_EMULATOR_CACHE": ""}
    assert output(executable, "--version", **environment, TMPDIR=str(tmp_path))[0] == 0
    [folder] = tmp_path.glob("rocketmq-emulator-*")
    assert folder.stat().st_mode & 0o777 == 0o700
