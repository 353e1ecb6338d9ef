"""The sample of repeated tests that CI runs, and the record of their last whole run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import sampled_tests
from sampled_tests import (
    OF_ALL,
    OF_MARKED,
    SampledTestsError,
    chosen,
    digest_of,
    form_of,
    marked_files,
    problem,
    read,
    text_of,
    unchanged,
)

TESTS = """
import pytest

pytestmark = pytest.mark.{mark}

@pytest.mark.parametrize("number", range(9))
def test_repeated(number): ...

def test_alone_1(): ...

def test_alone_2(): ...

def test_alone_3(): ...
"""
CONFTEST = """
from pathlib import Path

import sampled_tests
from sampling import deselect_outside_sample

sampled_tests.ROOT = Path(__file__).parent
sampled_tests.FILE = sampled_tests.ROOT / "sampled.json"


def pytest_collection_modifyitems(config, items):
    deselect_outside_sample(config, items)
    deselect_outside_sample(config, items)
"""
CASE = '<testcase classname="tests.test_{name}" name="test_one" time="1">{more}</testcase>'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with one file of sampled tests."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_a.py").write_text(TESTS.format(mark="sampled"))
    (tmp_path / "conftest.py").write_text(CONFTEST)
    return tmp_path


def collected(project: Path, *, sample: str = OF_MARKED, record: bool = True) -> list[str]:
    """Return the tests that pytest selects. With `record`, `tests/test_a.py` has not changed since its record."""
    file = "tests/test_a.py"
    if record:
        form = {"date": "2026-01-31", "files": {file: [digest_of(project / file), 12]}}
        (project / "sampled.json").write_text(text_of(form))
    root = sampled_tests.ROOT
    path = os.pathsep.join(str(root / each) for each in ("scripts", "tests/support"))
    variables = {"PYTHONPATH": path, "TEST_SAMPLE": sample}
    done = subprocess.run(
        [Path(sys.executable).with_name("pytest"), "-p", "no:xdist", "-p", "no:cacheprovider", "--collect-only", "-q"],
        cwd=project,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return [line.rpartition("::")[2] for line in done.stdout.splitlines() if "::" in line]


def test_a_sample_has_a_sixth_of_the_parameters_and_every_test_without_them(project: Path) -> None:
    """The sample is the same in each run; without TEST_SAMPLE all tests run."""
    found = collected(project)
    assert len([name for name in found if "[" in name]) == 2
    assert [name for name in found if "[" not in name] == ["test_alone_1", "test_alone_2", "test_alone_3"]
    assert collected(project) == found
    assert len(collected(project, sample="")) == 12


def test_a_sample_of_all_tests_has_a_sixth_of_the_parameters_of_unmarked_ones_too(project: Path) -> None:
    """Every test without parameters runs. Marked tests are as in the sample of marked ones."""
    marked = collected(project)
    assert collected(project, sample=OF_ALL) == marked
    (project / "tests" / "test_a.py").write_text(TESTS.format(mark="slow"))
    assert len(collected(project)) == 12
    assert collected(project, sample=OF_ALL) == marked


def test_a_marked_file_may_have_a_sixth_of_its_tests_in_the_sample(project: Path) -> None:
    (project / "tests" / "test_a.py").write_text(TESTS.format(mark='sampled("tests")'))
    assert len([name for name in collected(project) if "[" not in name]) == sampled_tests.LEAST


def test_a_mark_may_say_that_one_test_is_enough(project: Path) -> None:
    (project / "tests" / "test_a.py").write_text(TESTS.format(mark="sampled(least=1)").replace("range(9)", "range(2)"))
    assert len([name for name in collected(project) if "[" in name]) == 1


def test_marks_of_functions_and_files_are_found(project: Path) -> None:
    """A file may have several marks."""
    texts = ("@pytest.mark.sampled", "pytestmark = pytest.mark.sampled", "pytestmark = [pytest.mark.sampled, 1]", "")
    for number, text in enumerate(texts):
        (project / "tests" / f"test_{number}.py").write_text(f"{text}\n")
    assert marked_files(project) == [f"tests/test_{each}.py" for each in ("0", "1", "2", "a")]


def test_a_file_that_changed_since_its_record_runs_whole(project: Path) -> None:
    assert len(collected(project, record=False)) == 12
    collected(project)
    (project / "tests" / "test_a.py").write_text(TESTS.format(mark="sampled") + "\n")
    assert len(collected(project, record=False)) == 12


def test_a_sample_is_a_sixth_but_at_least_two() -> None:
    names = [f"test[{number}]" for number in range(31)]
    assert [len(chosen(names[:count])) for count in (1, 2, 3, 8, 9, 31)] == [1, 2, 2, 2, 2, 6]
    assert chosen(reversed(names)) == chosen(names)


# The record.


def test_the_record_of_sampled_tests_is_current() -> None:
    """`make test-seldom` ran all sampled tests; the files that have changed since run whole."""
    assert problem(read(), marked_files()) == ""


def test_a_stale_record_names_a_file_and_says_what_to_do(project: Path) -> None:
    files = [f"tests/test_{name}.py" for name in "abcd"]
    for file in files:
        (project / file).write_text("1")
    form = {"date": "2026-01-31", "files": {files[0]: [digest_of(project / files[0]), 1]}}
    assert unchanged(form, files[0], project)
    assert problem(form, files, project) == ""
    (project / files[0]).write_text("2")
    assert problem(form, files, project) == (
        "record of 2026-01-31: 4 files with sampled tests have changed since, such as tests/test_a.py; at most 3 may "
        "run whole in CI; run `make test-seldom` and commit sampled.json"
    )


def test_only_a_whole_run_that_passed_is_recorded(project: Path) -> None:
    files = ["tests/test_a.py", "tests/test_b.py"]
    (project / files[1]).write_text("1")
    report = project / "report.xml"

    def write(*cases: str) -> None:
        report.write_text(f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>")

    write(CASE.format(name="a", more=""), CASE.format(name="a", more=""))
    with pytest.raises(SampledTestsError, match=r"^tests/test_b\.py: no test ran"):
        form_of([report], files, project)
    write(CASE.format(name="a", more=""), CASE.format(name="b", more="<failure/>"))
    with pytest.raises(SampledTestsError, match=r"^tests/test_b\.py: test_one failed"):
        form_of([report], files, project)
    write(CASE.format(name="a", more=""), CASE.format(name="b", more=""), CASE.format(name="c", more=""))
    counts = {file: row[1] for file, row in form_of([report], files, project)["files"].items()}
    assert counts == {"tests/test_a.py": 1, "tests/test_b.py": 1}


def test_files_that_have_not_changed_keep_their_row(project: Path) -> None:
    """A run of the changed files is enough. Files that have changed must run."""
    files = ["tests/test_a.py", "tests/test_b.py"]
    (project / files[1]).write_text("1")
    report = project / "report.xml"
    report.write_text(f"<testsuites><testsuite>{CASE.format(name='a', more='')}</testsuite></testsuites>")
    rows = {file: [digest_of(project / file), 7] for file in files}
    found = form_of([report], files, project, {"date": "2026-01-31", "files": rows})
    assert {file: row[1] for file, row in found["files"].items()} == {files[0]: 1, files[1]: 7}
    (project / files[1]).write_text("2")
    with pytest.raises(SampledTestsError, match=r"^tests/test_b\.py: no test ran"):
        form_of([report], files, project, {"date": "2026-01-31", "files": rows})


def test_marked_files_are_found_by_the_mark_of_the_file_or_of_a_test(project: Path) -> None:
    for name, text in (
        ("b", "@pytest.mark.sampled\ndef test(): ..."),
        ("c", "pytestmark = pytest.mark.alone"),
        ("d", "'pytestmark = pytest.mark.sampled'"),
    ):
        (project / "tests" / f"test_{name}.py").write_text(text)
    assert marked_files(project) == ["tests/test_a.py", "tests/test_b.py"]
