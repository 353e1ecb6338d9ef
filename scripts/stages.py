"""Runs the stages of `make test` in their order, once `.venv` exists, and prints their times and a verdict.

    python scripts/stages.py [STAGE ...]

Without names every stage runs. A failed stage of set-up ends the run, because no later stage would be meaningful. A
failed check does not, so that one run shows every failure. The exit code is 0 on success, 1 on failure, and 2 for an
unknown stage.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import environments
import file_seconds
import namespace_links
import rust_crates
import sampled_tests
import system
import verdict
from selected_tests import (
    BEHAVIOUR,
    CLIENTS,
    CODES_SEEN,
    COMPILED_SAMPLE,
    CONSOLE,
    ENGINE_AND_PROTOCOLS,
    EXECUTABLE,
    EXPLORATION,
    LIBRARIES_OF_FIXTURES,
    MIDDLE_PROTOBUFS,
    OF_EXECUTABLE,
    OLDEST_PYTEST,
    PROTOCOL_SAMPLE,
    REAL_BROKERS,
    SIDECAR,
    SPARK,
    SPARK_CONNECT,
    SUITES_OF_HELPERS,
    USES_LIBRARIES,
    WITHOUT_NEWEST,
    WITHOUT_OTHER_STAGES,
    WITHOUT_REAL_BROKERS,
)
from stage_runs import Stage, StageFailed, StageResult, execute, run

ROOT = Path(__file__).resolve().parent.parent
REPORTS = ROOT / ".reports"
CASES = REPORTS / "cases.json"
SAMPLE = REPORTS / "scenarios.json"
MATRIX = REPORTS / "matrix.json"
"""Outcomes of the emulator in all cases, in the sample of scenarios and SDKs, and in all scenarios with each SDK."""
BUGS = REPORTS / "bugs.txt"
"""Bugs of its own that the emulator reported outside of tests, as in conformance runs; there should be none."""
WORKERS = os.environ.get("TEST_WORKERS", "2")
MORE = str(3 * int(WORKERS) // 2)
"""Number of workers for tests some of which wait for other processes."""
WAITING = str(2 * int(WORKERS))
"""Number of workers for tests that wait for other processes half of their time. More exceed limits of SDKs."""
OF_CLIENTS = str(3 * int(WORKERS))
"""Number of workers for tests of SDKs, which wait most of their time: 497 of them used 518 s of processor time."""
JOBS = str(6 * int(WORKERS))
"""Number of parallel scenarios with SDKs, which mostly wait. With 16 on two cores, sends of 4 MiB exceeded 3 s."""
REPEATED_MAX = "2"
"""Maximum number of repeated scenarios, of some 390 pairs of scenario and SDK."""
CASES_SECONDS_MAX = 120.0
SAMPLE_SECONDS_MAX = 480.0
MATRIX_SECONDS_MAX = 1200.0
"""Limits in seconds, twice the promised times of one, four and ten minutes on two idle cores.

The factor is for machines with other load.
"""
RUN_SECONDS_MAX = 45 * 60.0
"""Limit in seconds for a whole run on the build server; a longer run fails."""
RESERVED: Mapping[str, float] = {
    "further clients, ports and machines": 110.0,
}
"""Seconds of the budget reserved for future stages. With those of STAGES they must fit into RUN_SECONDS_MAX."""


def call(*words: str | Path, cwd: Path = ROOT, **variables: str) -> None:
    """Run a command of a stage with further environment variables. Raises StageFailed."""
    # All emulators of a stage report their own bugs in this file; the tests' processes have files of their own.
    execute([str(word) for word in words], cwd, {**os.environ, "ROCKETMQ_TESTKIT_BUG_REPORTS": str(BUGS), **variables})


def pytest(
    report: str,
    *words: str,
    python: Path | None = None,
    workers: str = WORKERS,
    cwd: Path = ROOT,
    sample: str = sampled_tests.OF_MARKED,
    variables: Mapping[str, str] | None = None,
) -> None:
    """Run tests and keep their JUnit file for the verdict. `sample` is a value of TEST_SAMPLE, or empty for all tests.

    It runs the command `pytest`, not `python -m pytest`. The latter puts this folder first in the import path, where
    our `fixtures` would hide the package of that name.
    """
    command = (python or Path(sys.executable)).with_name("pytest")
    parallel = ["-n", workers, "--dist", "loadgroup"] if workers != "0" else ["-p", "no:xdist"]
    file = REPORTS / f"{report}.xml"
    call(command, f"--junitxml={file}", *parallel, *words, cwd=cwd, TEST_SAMPLE=sample, **(variables or {}))
    if not file.is_file():
        raise StageFailed(f"{report} has written no report; its tests are unknown")


def environment(wanted: environments.Environment) -> Path:
    """Return the interpreter of a virtual environment that this run has made. Raises StageFailed."""
    try:
        return environments.made(wanted)
    except subprocess.CalledProcessError as error:
        raise StageFailed(f"{wanted.folder.name} cannot be made: {error}") from error


def existing(folders: Sequence[str]) -> list[str]:
    """Return the folders and files that exist.

    Raises StageFailed if none does: pytest without arguments would run other tests.
    """
    found = [folder for folder in folders if (ROOT / folder).exists()]
    if not found:
        raise StageFailed(f"there is no {' and no '.join(folders)}")
    return found


def files_with(marker: str) -> list[str]:
    """Return test files that use a marker, without those of other stages. Collecting all files takes half a minute."""
    others = tuple(ROOT / folder for folder in (*CLIENTS, *SIDECAR, *CONSOLE))
    return [
        str(path.relative_to(ROOT))
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        if f"pytest.mark.{marker}" in path.read_text() and not any(path.is_relative_to(other) for other in others)
    ]


# --- the stages


def run_system() -> None:
    """Install missing Debian packages."""
    system.ensure()


def run_lint() -> None:
    """Check code with ruff's rules and formatting."""
    ruff = Path(sys.executable).with_name("ruff")
    call(ruff, "check", ".")
    call(ruff, "format", "--check", ".")


def run_types() -> None:
    """Check types of the package by its installed name, then of the code around it."""
    namespace_links.main()
    mypy = Path(sys.executable).with_name("mypy")
    call(mypy, "-p", "rocketmq_testkit", "-p", "pyspark_rocketmq")
    call(mypy, *existing(["scripts", "tests", "spark_tests", "bench", "docker", "examples"]))


def run_docs() -> None:
    """Build the documentation site. Fails if a link, an anchor or an entry of the navigation is wrong."""
    call(sys.executable, "scripts/website.py", "build")


def run_collection() -> None:
    """Import all test files in one process, which keeps them compiled with the assertions of pytest.

    Otherwise each worker of the next stages compiles each file, all of them at the same time: 26 s of processor time.
    """
    pytest_command = Path(sys.executable).with_name("pytest")
    ignored = [f"--ignore={folder}" for folder in CONSOLE]  # needs Selenium, which only its environment has
    call(pytest_command, "-p", "no:xdist", "--collect-only", "-qq", *ignored, "tests")


def run_drivers() -> None:
    """Build the SDK drivers; unchanged ones come from the cache."""
    call(
        sys.executable,
        "-m",
        "rocketmq_testkit.conformance.drivers.build",
        ROCKETMQ_TESTKIT_CRATES=str(rust_crates.folder()),
    )
    call(sys.executable, "scripts/rust_crates.py")


def run_fast() -> None:
    """Test the engine, the protocols and the host, without the files that take long."""
    record = file_seconds.read()
    print(f"fast: {file_seconds.summary(record)}", flush=True)
    ignored = (f"--ignore={file}" for file in record.left_out())
    pytest("fast", "-m", "not alone", *ignored, *existing(ENGINE_AND_PROTOCOLS))


def run_tests() -> None:
    """Run all tests that can share the machine."""
    pytest("tests", "-m", "not alone", *WITHOUT_OTHER_STAGES, "tests", workers=MORE)


def run_alone() -> None:
    """Run tests that measure time or change the network, at last those with real SDKs."""
    pytest("alone", "-m", "alone", *files_with("alone"), workers="0")
    pytest("clients-alone", "-m", "alone", *WITHOUT_REAL_BROKERS, *existing(CLIENTS), workers="0")


def run_meanwhile() -> None:
    """Start the steps that download or build for minutes; stages that need their results wait for them."""
    steps = (
        ("base", ("docker/check.py", "--base")),
        ("executable-build", ("scripts/build_executable.py",)),
        ("environments", ("scripts/environments.py",)),
    )
    for name, words in steps:
        with (REPORTS / f"{name}.log").open("wb") as log:
            command = [sys.executable, *words]
            subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)


def scenarios(findings: Path, *words: str) -> None:
    """Compare the emulator with recorded real brokers in scenarios with every SDK. Raises StageFailed."""
    # SDKs have races of their own, with real brokers as well. A few scenarios may need a second attempt.
    command = Path(sys.executable).with_name("rocketmq-conformance")
    selected = ("-k", "scenarios", "--sdk", "all", "--jobs", JOBS, "--attempts", "2", *words)
    call(command, "run", "--target", "emulator", *selected, "--json", findings)


def run_conformance() -> None:
    """Compare the emulator with recorded real brokers: every case, and a sample of scenarios and SDKs."""
    command = Path(sys.executable).with_name("rocketmq-conformance")
    comparisons: tuple[Callable[[], None], ...] = (
        partial(call, command, "run", "--target", "emulator", "--jobs", WORKERS, "--json", CASES),
        partial(scenarios, SAMPLE, "--sample", "--repeated-max", REPEATED_MAX),
    )
    problems = []
    for compare in comparisons:
        try:
            compare()
        except StageFailed as failed:
            problems.append(str(failed))
    found = [each for each in (CASES, SAMPLE) if each.is_file()]
    if found:
        call(command, "report", *found, "--report", REPORTS / "conformance")
    for findings, seconds_max in ((CASES, CASES_SECONDS_MAX), (SAMPLE, SAMPLE_SECONDS_MAX)):
        problems += took_too_long(findings, seconds_max)
    if problems:
        raise StageFailed("; ".join(problems))


def took_too_long(findings: Path, seconds_max: float) -> list[str]:
    """Print the duration of a conformance run; return a sentence if it was too long."""
    if not findings.is_file():
        return []
    content = json.loads(findings.read_text())
    line = f"{findings.stem}: {len(content['outcomes'])} outcomes in {content['seconds']} s, at most {seconds_max:g} s"
    print(line, flush=True)
    return [f"too slow: {line}"] if content["seconds"] > seconds_max else []


def run_clients() -> None:
    """Test with every real SDK, apart from tests that measure time."""
    wanted = f"not alone and not {OF_EXECUTABLE}"
    pytest("clients", "-m", wanted, *WITHOUT_REAL_BROKERS, *existing(CLIENTS), workers=OF_CLIENTS)


def run_exploration() -> None:
    """Explore small applications with planted bugs. One test of each file runs them, on two workers."""
    pytest("exploration", *existing(EXPLORATION), workers="0")


def run_console() -> None:
    """Use every view and button of the web console in a browser, and open pages of the documentation site.

    Pictures of the views are in `.reports/console`.
    """
    home = ROOT / "build" / "site" / "index.html"
    if not home.is_file() or '<td class="sentence"' not in home.read_text():  # `make docs-serve` writes other HTML
        run_docs()
    pytest("console", "-s", *existing(CONSOLE), python=environment(environments.BROWSER), workers="0")


def run_spark() -> None:
    """Test the Spark connector, the auditor and replay, then the example that uses them."""
    pytest("spark", *existing(SPARK))
    pytest("pipelines", workers="0", cwd=ROOT / "examples" / "pipelines")


def run_executable() -> None:
    """Build the executable, compare it with the command, and run the suites of command and helpers with it.

    Tests of a file that shares artifacts run one after another, and those of several files at the same time. The stage
    `tests` has run the suite of the command with all parameters, so that a sample of them is enough here. Without the
    variable, the tests with the marker refuse to run, and a file that is no executable is an error in any test.
    """
    call(sys.executable, "scripts/build_executable.py")
    tested = {"COMMAND_UNDER_TEST": str(ROOT / "dist" / "rocketmq-emulator")}
    files = existing((*SUITES_OF_HELPERS, *EXECUTABLE))
    pytest("executable", "-m", OF_EXECUTABLE, *files, workers=WAITING, variables=tested)
    suite = tests_of_command()
    sample = sampled_tests.OF_ALL
    pytest("executable-command", "-m", "not alone", *suite, workers=WAITING, sample=sample, variables=tested)
    pytest("executable-command-alone", "-m", "alone", *suite, workers="0", variables=tested)


def tests_of_command() -> list[str]:
    """Return the files of tests that start the command, of those that need no other client."""
    starts = re.compile("^from (?:command_line|served_emulator) import", re.MULTILINE)
    files = sorted((ROOT / "tests" / "fixtures").rglob("test_*.py"))
    return [str(each.relative_to(ROOT)) for each in files if starts.search(each.read_text(encoding="utf-8"))]


def run_sidecar() -> None:
    """Build, start and use the image."""
    # -s: the log shows the figures of the image.
    pytest("sidecar", "-s", *existing(SIDECAR), workers="0")


def run_oldest() -> None:
    """Test a sample with the oldest allowed versions, then the plugin with a pytest older than our own tests need."""
    python = environment(environments.OLDEST)
    files = (*PROTOCOL_SAMPLE, *LIBRARIES_OF_FIXTURES)
    pytest("oldest", "-m", "not alone", *WITHOUT_NEWEST, *existing(files), python=python, sample=sampled_tests.OF_ALL)
    # The oldest pytest-asyncio of our own tests cannot be imported by that pytest.
    pip = (sys.executable, "-m", "pip", "--python", python)
    call(*pip, "uninstall", "--quiet", "--yes", "pytest-asyncio")
    call(*pip, "install", "--quiet", f"pytest=={OLDEST_PYTEST}")
    pytest("oldest-pytest", "tests/fixtures/test_plugin.py", python=python)


def run_oldest_whole() -> None:
    """Test all that uses libraries with their oldest allowed versions. Run it before `oldest`, which changes pytest."""
    python = environment(environments.OLDEST)
    pytest("oldest-whole", "-m", "not alone", *WITHOUT_NEWEST, *existing(USES_LIBRARIES), python=python)


def run_spark_oldest() -> None:
    """Test the Spark connector with the oldest allowed Spark and Arrow."""
    pytest("spark-oldest", *existing(SPARK), python=environment(environments.SPARK_OLDEST))


def run_matrix() -> None:
    """Compare the emulator with recorded real brokers in every scenario with every SDK, and record the run."""
    scenarios(MATRIX)
    problems = took_too_long(MATRIX, MATRIX_SECONDS_MAX)
    if problems:
        raise StageFailed(problems[0])
    call(sys.executable, "-m", "rocketmq_testkit.conformance.runner.matrix_record", MATRIX)


def run_sampled() -> None:
    """Run all tests of which other stages run a sample, and record the run."""
    pytest("sampled", "-m", "sampled and not alone", *sampled_tests.marked_files(), workers=OF_CLIENTS, sample="")
    call(sys.executable, "scripts/sampled_tests.py", REPORTS / "sampled.xml")


def run_real_brokers() -> None:
    """Test the conformance suite with real brokers."""
    pytest("real-brokers", *existing(REAL_BROKERS), workers=WAITING)


def run_codes_seen() -> None:
    """Find codes that the emulator can return and no case provokes."""
    pytest("codes-seen", *existing(CODES_SEEN), workers="0")


def run_spark_connect() -> None:
    """Test the Spark connector with a session of Spark Connect."""
    pytest("spark-connect", *existing(SPARK_CONNECT), python=environment(environments.SPARK_CONNECT), workers="0")


def run_compiled() -> None:
    """Test the engine, the protocols and a sample of the host's tests with compiled modules.

    The stage `tests` has run these tests with all parameters in pure Python, but for a sample of the marked ones.
    """
    words = ("-m", "not alone and not pure", *existing(COMPILED_SAMPLE))
    pytest("compiled", *words, python=environment(environments.COMPILED), sample=sampled_tests.OF_ALL)


def run_compiled_whole() -> None:
    """Run all tests that can share the machine with compiled modules."""
    words = ("-m", "not alone and not pure", *WITHOUT_OTHER_STAGES, "tests")
    pytest("compiled-whole", *words, python=environment(environments.COMPILED))


def run_control_api() -> None:
    """Send requests that are generated from docs/openapi.json to a running emulator."""
    call(environment(environments.SCHEMATHESIS), ROOT / "scripts" / "openapi" / "generated_requests.py")


def run_protobuf() -> None:
    """Test a sample with the protobufs between the oldest and the newest, and with newer Pythons."""
    for wanted in MIDDLE_PROTOBUFS:
        sample = sampled_tests.OF_ALL
        pytest(wanted.name, "-m", "not alone", *PROTOCOL_SAMPLE, python=environment(wanted), sample=sample)


def run_protobuf_whole() -> None:
    """Test all that uses protobuf with the protobufs between the oldest and the newest, and with newer Pythons."""
    for wanted, folders in MIDDLE_PROTOBUFS.items():
        python = environment(wanted)
        pytest(f"{wanted.name}-whole", "-m", "not alone", *WITHOUT_NEWEST, *existing(folders), python=python)


def run_libraries() -> None:
    """Test each rule with both protocols, with the oldest libraries and those in between."""
    for wanted in (environments.OLDEST, *MIDDLE_PROTOBUFS):
        # Rules that call the engine directly use no library, as the engine's own tests.
        others = ("-m", "not alone", "--protocol-clients=remoting,grpc", *existing(BEHAVIOUR))
        pytest(f"{wanted.name}-behaviour", *others, python=environment(wanted))


STAGES: tuple[Stage, ...] = (
    Stage("system", "programs that the build requires", run_system, 5, needed=True),
    Stage("lint", "ruff", run_lint, 4),
    Stage("types", "mypy --strict", run_types, 27),
    Stage("collection", "all test files, imported and compiled once", run_collection, 35, beside="types"),
    Stage("drivers", "SDK drivers", run_drivers, 5, needed=True),
    Stage("tests", "all tests without outside clients", run_tests, 490),
    Stage("alone", "tests that need an idle machine", run_alone, 30),
    Stage(
        "meanwhile",
        "the image's base, the executable and other environments, built during the next stages",
        run_meanwhile,
        1,
    ),
    Stage("conformance", "the emulator against recorded brokers", run_conformance, 280),
    Stage("clients", "real SDKs", run_clients, 435),
    Stage("docs", "the documentation site", run_docs, 11, beside="clients"),
    Stage("spark", "the Spark connector, auditor and replay", run_spark, 285),
    Stage("oldest", "a sample with the oldest allowed dependencies", run_oldest, 40, beside="spark"),
    Stage("control-api", "generated requests to the control port", run_control_api, 35, beside="spark"),
    Stage(
        "executable", "the executable, helpers that start it, containers, artifacts of a release", run_executable, 190
    ),
    Stage("console", "the web console in a browser", run_console, 130),
    Stage("exploration", "small applications with planted bugs", run_exploration, 112, beside="console"),
    Stage("sidecar", "the image", run_sidecar, 80, beside="console"),
    Stage("protobuf", "a sample with protobuf 5 and 6, newer Pythons", run_protobuf, 20, beside="console"),
    Stage("compiled", "engine, protocols and a sample of the host's tests, with compiled modules", run_compiled, 120),
)
"""All stages in their order, with a budget of 38 minutes and 55 seconds.

The seconds were measured on 2026-11-27 and 28, with Python 3.11 on two cores of an Intel Xeon. Samples had a third of
their tests and pairs then, a quarter now, and more SDKs ran at a time.
"""
ON_REQUEST = (
    Stage("fast", "engine, protocols and host, without slow files", run_fast, 40),
    Stage("compiled-whole", "all tests without outside clients, with compiled modules", run_compiled_whole, 600),
    Stage("oldest-whole", "all with the oldest allowed dependencies", run_oldest_whole, 60),
    Stage("protobuf-whole", "all with protobuf 5 and 6, newer Pythons", run_protobuf_whole, 60),
    Stage("libraries", "behaviour with oldest dependencies and other protobufs", run_libraries, 300),
    Stage("spark-oldest", "the oldest Spark that is allowed", run_spark_oldest, 600),
    Stage("matrix", "every scenario with every SDK against recorded brokers", run_matrix, 420),
    Stage("sampled", "tests of which other stages run a sample", run_sampled, 300),
    Stage("real-brokers", "the conformance suite with real brokers", run_real_brokers, 60),
    Stage("codes-seen", "codes that no case provokes", run_codes_seen, 40),
    Stage("spark-connect", "a session of Spark Connect", run_spark_connect, 60),
)
"""Stages that run only when they are named."""


def main(names: Sequence[str]) -> int:
    """Run the named stages, or all of STAGES, and print their results."""
    known = {stage.name: stage for stage in (*STAGES, *ON_REQUEST)}
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"there is no stage {', '.join(unknown)}; known are {', '.join(known)}", file=sys.stderr)
        return 2
    begin = time.monotonic()
    # A run starts hundreds of Pythons. With this variable, set in containers, each compiles the whole package again.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    shutil.rmtree(REPORTS, ignore_errors=True)
    REPORTS.mkdir()
    results = run([known[name] for name in names] if names else STAGES)
    # The limit applies on the build server, which runs nothing else. Other machines may have other load.
    limit = None if names or "CI" not in os.environ else RUN_SECONDS_MAX
    return conclude(results, time.monotonic() - begin, limit)


def conclude(results: Sequence[StageResult], seconds: float, limit: float | None = None) -> int:
    """Print the times of stages, the verdict on all tests and the closing line; return the exit code.

    A run of more than `limit` seconds fails. With a limit, a stage that exceeds its budget by the margin fails as well.
    """
    print("\n--- stages: seconds used, of the budget, and processor seconds of all cores", flush=True)
    for result in results:
        slow = limit is not None and result.too_slow
        status = result.problem or ("TOO SLOW" if slow else "ok")
        used = f"{result.seconds:8.1f} s of {result.allowed:4.0f} {result.processor_seconds:8.1f} s"
        print(f"{result.name:<12} {used}  {status}")
    files = sorted(REPORTS.glob("*.xml"))
    found = verdict.read(files)
    for name in found.failed:
        print(f"FAILED {name}")
    for name, why in found.unexpected.items():
        print(f"UNEXPECTED SKIP {name}: {why}")
    for line in (line for file in (CASES, SAMPLE, MATRIX) for line in verdict.unexpected_outcomes(file)):
        print(line)
    bugs = BUGS.read_text(encoding="utf-8") if BUGS.is_file() else ""
    if bugs:
        print(f"BUGS of the emulator were reported:\n{bugs}")
    in_time = limit is None or seconds <= limit
    if not in_time:
        print(f"TOO SLOW: {seconds:.0f} s, at most {limit:.0f} s")
    stages_in_time = limit is None or not any(result.too_slow for result in results)
    stages_good = stages_in_time and all(not result.problem for result in results)
    good = in_time and not bugs and stages_good and (not files or found.good)
    if files:
        print(found.line(seconds), flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
