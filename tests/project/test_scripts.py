"""The scripts behind the task runner."""

import json
import subprocess
import sys
from pathlib import Path

import namespace_links
import oldest
import pytest
import pythons
import stages
import system
import verdict
from stage_runs import Stage, StageFailed, run

ROOT = Path(__file__).resolve().parents[2]
JUNIT = """<?xml version="1.0"?><testsuites><testsuite>
<testcase classname="tests.a" name="test_one" time="1.5"/>
<testcase classname="tests.a" name="test_two[x]" time="0.5"/>
<testcase classname="tests.b" name="test_known" time="0"><skipped type="pytest.xfail" message="a defect"/></testcase>
{more}
</testsuite></testsuites>"""
SKIP = '<testcase classname="tests.c" name="test_java"><skipped type="pytest.skip" message="no java"/></testcase>'
FAILURE = '<testcase classname="tests.c" name="test_bad"><failure message="boom"/></testcase>'
ERROR = '<testcase classname="tests.c" name="test_broken"><error message="boom"/></testcase>'


def read(folder: Path, *more: str) -> verdict.RunVerdict:
    """Return the verdict on a file with two passed tests, an expected failure and `more`."""
    (folder / "a.xml").write_text(JUNIT.format(more="\n".join(more)))
    return verdict.read([folder / "a.xml"])


class TestVerdict:
    """Tests of `scripts/verdict.py`."""

    def test_passed_tests_and_expected_failures_are_a_good_run(self, tmp_path: Path) -> None:
        """Passed tests and expected failures are counted, and the closing line looks like pytest's."""
        found = read(tmp_path)

        assert found.good
        assert found.line(12.0).strip("= ") == "2 passed, 1 xfailed in 12.00s"

    def test_an_unexpected_skip_fails_the_run(self, tmp_path: Path) -> None:
        """An unexpected skip is reported with its reason and is bad, although pytest accepts it."""
        found = read(tmp_path, SKIP)

        assert not found.good
        assert found.unexpected == {"tests.c::test_java": "no java"}
        assert "1 skipped" in found.line()

    def test_an_expected_skip_does_not_fail_the_run(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A test in the list of expected skips may be skipped."""
        monkeypatch.setattr(verdict, "EXPECTED_SKIPS", frozenset({"tests.c::test_java"}))

        assert read(tmp_path, SKIP).good

    @pytest.mark.parametrize("more", [FAILURE, ERROR])
    def test_failures_and_errors_count_as_failed(self, tmp_path: Path, more: str) -> None:
        found = read(tmp_path, more)

        assert not found.good
        assert len(found.failed) == 1

    def test_a_run_without_tests_fails(self) -> None:
        assert not verdict.read([]).good

    def test_unexpected_and_repeated_outcomes_are_listed(self, tmp_path: Path) -> None:
        """Unexpected outcomes are listed with record and observation, and repeated ones with their earlier attempts."""
        file = tmp_path / "conformance.json"
        good = {"id": "send.good", "expected": True, "verdict": "same", "reason": ""}
        bad = {"id": "send.bad", "expected": False, "verdict": "differs", "reason": "", "seen": [["code", 1]]}
        bad["recorded"] = {"version": "5.3.3", "date": "2026-01-31", "seen": [["code", 0]]}
        broken = {"id": "send.broken", "expected": False, "verdict": "error", "reason": "boom"}
        late = {**good, "id": "plain.late@go", "reason": "at attempt 2", "earlier": ["error: too late"]}
        file.write_text(json.dumps({"outcomes": [good, bad, broken, late]}))

        told = list(verdict.unexpected_outcomes(file))

        assert told == [
            "DIFFERS send.bad",
            '    recorded: [["code", 0]]',
            '    seen: [["code", 1]]',
            "ERROR send.broken: boom",
            "REPEATED plain.late@go: error: too late",
        ]
        assert list(verdict.unexpected_outcomes(tmp_path / "none.json")) == []


class TestOldest:
    """Tests of `scripts/oldest.py`."""

    def test_lower_bounds_become_exact_versions(self) -> None:
        """Lower bounds become exact versions; requirements with exact versions are left out."""
        assert oldest.oldest(["Twisted>=22.10", "mypy==2.0", "orjson >= 3.9.1"]) == ["Twisted==22.10", "orjson==3.9.1"]

    def test_a_requirement_without_bound_is_refused(self) -> None:
        with pytest.raises(ValueError, match="construct"):
            oldest.oldest(["construct"])

    def test_every_dependency_of_the_project_has_a_bound(self) -> None:
        """The runtime dependencies and the extras of `make test-oldest` have lower bounds."""
        assert len(oldest.of_project("conformance", "speed", "test")) > 5


class TestNamespaceLinks:
    """Tests of `scripts/namespace_links.py`."""

    def test_each_folder_has_a_relative_link_under_its_installed_name(self, tmp_path: Path) -> None:
        """Each folder has a relative link under its installed name; a link that left the mapping is removed."""
        (tmp_path / "engine").mkdir()
        (tmp_path / "engine" / "a.py").write_text("")
        project = '[tool.setuptools.package-dir]\n"kit.emulator" = "engine"\n'
        (tmp_path / "pyproject.toml").write_text(project)
        (tmp_path / ".ns" / "kit").mkdir(parents=True)
        (tmp_path / ".ns" / "kit" / "gone").symlink_to("../../gone")

        namespace_links.main(tmp_path)
        namespace_links.main(tmp_path)

        assert (tmp_path / ".ns" / "kit" / "emulator" / "a.py").is_file()
        assert not (tmp_path / ".ns" / "kit" / "emulator").readlink().is_absolute()
        assert not (tmp_path / ".ns" / "kit" / "gone").is_symlink()


class TestPythons:
    """Tests of `scripts/pythons.py`."""

    def test_an_interpreter_is_found_only_if_it_runs_and_has_the_version(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        programs = {"3.96": "echo 3.96 /opt/python", "3.97": "exit 127", "3.98": "echo 3.9 /opt/python"}
        for version, does in programs.items():
            program = tmp_path / f"python{version}"
            program.write_text(f"#!/bin/sh\n{does}\n")
            program.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path))

        found = [pythons.find(version) for version in (*programs, "3.99")]

        assert found == [Path("/opt/python"), None, None, None]

    def test_pyenv_programs_run_with_the_selected_version(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        program = tmp_path / "python3.96"
        program.write_text('#!/bin/sh\necho "$PYENV_VERSION" /opt/python\n')
        program.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path))

        assert pythons.find("3.96") == Path("/opt/python")


class TestSystem:
    """Tests of `scripts/system.py`."""

    def test_a_program_that_cannot_be_installed_is_named_in_one_sentence(self) -> None:
        with pytest.raises(system.MissingProgram, match="no-such-program"):
            system.ensure([system.Program("no-such-program", ())])

    def test_a_program_of_an_old_version_is_refused(self) -> None:
        """An old version is rejected by a sentence with both versions."""
        python = system.Program("python3", (), (sys.executable, "--version"), (99,))

        with pytest.raises(system.MissingProgram, match="99 or newer"):
            system.ensure([python])

    def test_no_program_is_installed_if_all_are_present(self) -> None:
        system.ensure([system.Program("sh", ()), system.Program("python3", (), (sys.executable, "--version"), (3, 11))])


class TestStages:
    """Tests of `scripts/stages.py`."""

    def test_an_unknown_stage_is_refused(self, capsys: pytest.CaptureFixture[str]) -> None:
        """An unknown stage is rejected with a list of the known ones."""
        assert stages.main(["typos"]) == 2
        assert "types" in capsys.readouterr().err

    def test_a_failed_check_does_not_end_the_run_but_a_failed_needed_stage_does(self) -> None:
        ran: list[str] = []

        def fail() -> None:
            ran.append("fail")
            raise StageFailed("on purpose")

        def work() -> None:
            ran.append("work")

        check = run([Stage("a", "", fail), Stage("b", "", work)])
        needed = run([Stage("a", "", fail, needed=True), Stage("b", "", work)])

        assert ran == ["fail", "work", "fail"]
        assert [result.problem for result in check] == ["on purpose", ""]
        assert [result.problem for result in needed] == ["on purpose"]

    def test_a_conformance_run_above_its_time_limit_is_a_problem(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """The duration of a conformance run is printed, and is a problem above the limit."""
        file = tmp_path / "cases.json"
        assert stages.took_too_long(file, 60) == []
        file.write_text(json.dumps({"seconds": 60.5, "outcomes": [{}, {}]}))
        assert stages.took_too_long(file, 61) == []
        assert stages.took_too_long(file, 60) == ["too slow: cases: 2 outcomes in 60.5 s, at most 60 s"]
        assert capsys.readouterr().out == "".join(
            f"cases: 2 outcomes in 60.5 s, at most {limit} s\n" for limit in (61, 60)
        )

    def test_tests_that_run_alone_are_found_by_their_marker(self) -> None:
        """Test files with the marker are found, except in folders with stages of their own."""
        found = stages.files_with("alone")
        assert {"tests/fixtures/test_bounded_memory.py", "tests/fixtures/test_container_gateway.py"} <= set(found)
        assert not [file for file in found if file.startswith(("tests/clients/", "tests/sidecar/"))]

    def test_every_excluded_folder_is_tested_by_another_stage(self) -> None:
        assert {stage.name for stage in stages.STAGES} >= {"tests", "alone", "clients", "sidecar", "oldest", "protobuf"}


def test_find_python_prints_a_recent_enough_python() -> None:
    done = subprocess.run([ROOT / "scripts/find_python.sh"], capture_output=True, text=True, check=True)

    told = subprocess.run([done.stdout.strip(), "--version"], capture_output=True, text=True, check=True)
    assert told.stdout >= "Python 3.11"
