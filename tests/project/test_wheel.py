"""The wheel installed in a new environment with other packages, where pytest finds the plugin by its entry point."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from namespace_links import ROOT, packages

LEFT_OUT = frozenset({"__pycache__", "target", "node_modules"})
"""Folders of build output in the source tree."""

USE = """
import fixtures as test_fixtures  # the well-known package of this name, beside ours
from rocketmq_testkit import Emulator


def test_the_plugin_is_there(rocketmq: Emulator) -> None:
    topic = rocketmq.topic("orders", queues=2)
    topic.send(b"hello", tag="greeting")
    assert [(message.body, message.tag) for message in topic.messages] == [(b"hello", "greeting")]


def test_the_other_package_is_whole() -> None:
    class Whole(test_fixtures.Fixture):
        pass

    with Whole():
        assert test_fixtures.TempDir is not None


def test_small_journals_are_audited_without_spark(rocketmq: Emulator) -> None:
    from pyspark_rocketmq.audit import audit_events, events_of

    rocketmq.topic("orders", queues=2).send(b"hello")
    assert audit_events(events_of(rocketmq)).accounts == []
"""


def run(*words: str | Path, cwd: Path) -> str:
    """Run a command and return its output. Fails with the output on an error."""
    done = subprocess.run(
        [str(word) for word in words], cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from a copy of the sources, because a build in place leaves folders that later builds pick up."""
    copy = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    for folder in packages(ROOT).values():
        shutil.copytree(folder, copy / folder.name, ignore=shutil.ignore_patterns(*LEFT_OUT))
    run(sys.executable, "-m", "build", "--wheel", "--outdir", copy / "dist", copy, cwd=copy)
    [made] = (copy / "dist").glob("*.whl")
    return made


@pytest.fixture(scope="module")
def new_environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of a new environment with the wheel, an extra, pytest and PyPI's package `fixtures`."""
    folder = tmp_path_factory.mktemp("new_environment")
    run(sys.executable, "-m", "venv", folder / "venv", cwd=folder)
    programs = folder / "venv" / "bin"
    whole = f"{wheel}[conformance]"
    run(programs / "python", "-m", "pip", "install", "--quiet", whole, "pytest", "fixtures", cwd=folder)
    return programs


def test_wheel_has_the_files_of_the_web_console(wheel: Path) -> None:
    """The wheel contains each page, style sheet, script and picture."""
    web = ROOT / "fixtures" / "console" / "web"
    wanted = {f"rocketmq_testkit/fixtures/console/web/{each.relative_to(web)}" for each in web.rglob("*.*")}
    with zipfile.ZipFile(wheel) as archive:
        assert len(wanted) > 30
        assert wanted <= set(archive.namelist())


def a_test_suite_uses_the_installed_plugin(new_environment: Path, tmp_path: Path) -> None:
    """Check that a test file gets its emulator from the wheel, and that PyPI's `fixtures` is unaffected."""
    (tmp_path / "test_use.py").write_text(USE)

    printed = run(new_environment / "pytest", "-q", "test_use.py", cwd=tmp_path)

    assert "3 passed" in printed
    run(new_environment / "python", "-m", "pip", "check", cwd=tmp_path)


def the_commands_are_installed(new_environment: Path, tmp_path: Path) -> None:
    """Check that the wheel contains the commands, and that the emulator prints its version."""
    assert run(new_environment / "rocketmq-emulator", "--version", cwd=tmp_path).startswith("rocketmq-emulator ")
    assert run(new_environment / "rocketmq-audit", "--help", cwd=tmp_path).startswith("usage: rocketmq-audit ")
    assert run(new_environment / "rocketmq-replay", "--help", cwd=tmp_path).startswith("usage: rocketmq-replay ")


def without_spark_the_command_names_the_extra(new_environment: Path, tmp_path: Path) -> None:
    """Check that without Spark the command prints one sentence with the name of the extra."""
    (tmp_path / "journal.jsonl").write_text('{"ts_us": 1, "event": "stored", "topic": "orders", "msgId": "m1"}\n')
    done = subprocess.run(
        [new_environment / "rocketmq-audit", "journal.jsonl"], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert done.returncode == 2
    assert done.stderr == (
        "rocketmq-audit: No module named 'pyspark'; it comes with the extra `spark`: "
        "pip install '/path/to/rocketmq-testkit[spark]'\n"
    )


def the_wheel_has_the_records_of_real_brokers(new_environment: Path, tmp_path: Path) -> None:
    """Check that the wheel contains the records of real brokers, and the template of the page of a run."""
    printed = run(new_environment / "rocketmq-conformance", "run", "-k", "tag", "--report", "report", cwd=tmp_path)

    assert "as expected" in printed
    assert "<h2>Cases</h2>" in (tmp_path / "report" / "index.html").read_text()


def the_wheel_has_scenario_records_and_driver_sources(new_environment: Path, tmp_path: Path) -> None:
    """Check that the wheel contains scenario records and the sources of an SDK's driver."""
    words = (
        "--sdk",
        "python",
        "-k",
        "scenarios.topics.a_send_creates_an_unknown_topic_over_remoting_and_fails_over_grpc",
    )
    printed = run(new_environment / "rocketmq-conformance", "run", *words, cwd=tmp_path)

    assert "emulator: 1 same" in printed


USES = (
    a_test_suite_uses_the_installed_plugin,
    the_commands_are_installed,
    without_spark_the_command_names_the_extra,
    the_wheel_has_the_records_of_real_brokers,
    the_wheel_has_scenario_records_and_driver_sources,
)


def test_the_wheel_has_the_right_files_and_works_when_installed(
    wheel: Path, new_environment: Path, tmp_path: Path
) -> None:
    """The wheel has exactly the files of the package, and its plugin and commands work.

    This is one test, because each worker of xdist would build and install the wheel again.
    """
    check_files_of_the_wheel(wheel)
    for use in USES:
        folder = tmp_path / use.__name__
        folder.mkdir()
        use(new_environment, folder)


def check_files_of_the_wheel(wheel: Path) -> None:
    """Check that the wheel has only our namespace, with typing marks, .proto files, records and driver sources."""
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names if ".dist-info/" not in name}

    assert tops <= {"rocketmq_testkit", "pyspark_rocketmq"}
    for package, folder in packages(ROOT).items():
        installed = package.replace(".", "/")
        assert f"{installed}/py.typed" in names
        modules = {
            f"{installed}/{file.relative_to(folder).as_posix()}"
            for file in folder.rglob("*.py")
            if not LEFT_OUT & set(file.relative_to(folder).parts)
        }
        assert modules <= set(names), sorted(modules - set(names))
        pages = {
            f"{installed}/{file.relative_to(folder).as_posix()}"
            for pattern in ("*.jinja", "*.css")
            for file in folder.rglob(pattern)
        }
        assert pages <= set(names), sorted(pages - set(names))
    assert "rocketmq_testkit/grpc_v2/proto/service.proto" in names
    conformance = ROOT / "conformance"
    records = {
        f"rocketmq_testkit/conformance/{file.relative_to(conformance)}"
        for file in (conformance / "recorded").rglob("*.json")
    }
    assert any("/scenarios/" in record for record in records)
    assert records <= set(names)
    assert "rocketmq_testkit/conformance/drivers/java_grpc/pom.xml" in names
    assert "rocketmq_testkit/conformance/drivers/go_grpc/main.go" in names
    assert not [name for name in names if "__pycache__" in name or "node_modules" in name]
