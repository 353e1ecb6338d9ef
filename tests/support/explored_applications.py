"""Runs of explored tests in processes of their own, and the verdict of each."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from xml.etree import ElementTree

SUPPORT = Path(__file__).parent


@dataclass(frozen=True)
class Explored:
    """One test of an application. `plan` is empty if it passed.

    `error` is the message of its exception, and `report` all that pytest printed about it.
    """

    application: str
    name: str
    seconds: float
    plan: str
    _: KW_ONLY
    error: str
    report: str = field(repr=False)


def explore(applications: Path, folder: Path, environment: Mapping[str, str] | None = None) -> Sequence[Explored]:
    """Run the explored tests of a folder on two workers, and return them. `folder` takes the copies and the report."""
    copied, settings, report = folder / "applications", folder / "pytest.ini", folder / "report.xml"
    shutil.copytree(applications, copied)  # outside of the folders whose conftest is for tests of the project
    settings.write_text(f"[pytest]\npython_files = *.py\npythonpath = {SUPPORT}\njunit_family = xunit1\n")
    program = Path(sys.executable).with_name("pytest")
    options = ("-p", "no:cacheprovider", "-p", "no:asyncio", "-n", "2")
    run = subprocess.run(
        [program, copied, "-c", settings, f"--rootdir={folder}", f"--junitxml={report}", *options],
        cwd=folder,
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    assert report.is_file(), run.stdout + run.stderr
    found = [_explored(case) for case in ElementTree.parse(report).iter("testcase")]
    assert found, run.stdout + run.stderr
    return found


def only_failed(explored: Sequence[Explored], application: str) -> Explored:
    """Return the only failed test of an application. If others failed as well, show what pytest printed about all."""
    failed = [each for each in explored if each.application == application and each.plan]
    assert len(failed) == 1, "\n".join((application, *(f"{each.name}\n{each.report}" for each in failed)))
    return failed[0]


def require_passed(explored: Sequence[Explored], application: str, name: str) -> None:
    """Require that the only test of an application whose name contains `name` passed, or show what pytest printed."""
    [found] = [each for each in explored if each.application == application and name in each.name]
    assert not found.plan, found.report


def _explored(case: ElementTree.Element) -> Explored:
    properties = {each.attrib["name"]: each.attrib["value"] for each in case.iter("property")}
    first, _, _ = properties.get("rocketmq_exploration", "".join(case.itertext())).partition("\n")
    found = [each for kind in ("failure", "error") for each in case.iter(kind)]
    return Explored(
        application=Path(case.attrib["file"]).stem,
        name=case.attrib["name"],
        seconds=float(case.attrib["time"]),
        plan=first.removeprefix("failed: ") if found else "",
        error="; ".join(each.attrib.get("message", "") for each in found),
        report="\n".join((*properties.values(), *case.itertext())),
    )
