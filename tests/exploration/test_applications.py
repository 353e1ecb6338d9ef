"""Small applications with planted bugs: the exploration finds each one, and passes their repaired versions."""

import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import pytest

APPLICATIONS = Path(__file__).with_name("applications")
SUPPORT = Path(__file__).parents[1] / "support"
SECONDS_MAX = 60.0
"""The longest time of the exploration of one application, on two cores."""
PLANS: Mapping[str, str] = {
    "acknowledge_first": "crash() is called before the first acknowledgement of order-1",
    "double_refund": "the first acknowledgement of order-1 is lost, "
    "then crash() is called after the first acknowledgement of order-2",
    "early_offset": "crash() is called before the first send of order-1 to audit",
    "charge_twice": "the first acknowledgement of order-1 is lost",
    "check_commits_unknown": "the first end of the transaction of order-2 is lost",
    "dead_letters": "the first send of order-1 to invoices gets the response TOO_MANY_REQUESTS, "
    "then the second send of order-1 to invoices gets the response TOO_MANY_REQUESTS",
    "dedupe_window": "the first acknowledgement of order-1 is lost, then the second acknowledgement of order-1 is lost",
    "lost_update": "the first acknowledgement of order-1-paid is lost",
    "order_assumption": "the first delivery of order-1 comes later, then the second delivery of order-1 comes later",
    "retry_resends": "the first send of invoice-of-order-1 to invoices gets the response TOO_MANY_REQUESTS",
}
"""The smallest failing plan of each application."""
DEEP = frozenset({"dead_letters", "double_refund", "dedupe_window", "order_assumption"})
"""Applications that survive each single fault."""


@dataclass(frozen=True)
class Explored:
    """One test of an application. `plan` is empty if it passed."""

    application: str
    name: str
    seconds: float
    plan: str


@pytest.fixture(scope="module")
def explored(tmp_path_factory: pytest.TempPathFactory) -> list[Explored]:
    """The explorations of all applications, in processes of their own."""
    folder = tmp_path_factory.mktemp("exploration")
    copied, settings, report = folder / "applications", folder / "pytest.ini", folder / "report.xml"
    shutil.copytree(APPLICATIONS, copied)  # outside of the folders whose conftest is for tests of the project
    settings.write_text(f"[pytest]\npython_files = *.py\npythonpath = {SUPPORT}\njunit_family = xunit1\n")
    program = Path(sys.executable).with_name("pytest")
    options = ("-p", "no:cacheprovider", "-p", "no:asyncio", "-n", "2")
    run = subprocess.run(
        [
            program,
            copied,
            "-c",
            settings,
            f"--rootdir={folder}",
            f"--junitxml={report}",
            *options,
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert report.is_file(), run.stdout + run.stderr
    found = [_explored(case) for case in ElementTree.parse(report).iter("testcase")]
    assert found, run.stdout + run.stderr
    return found


def _explored(case: ElementTree.Element) -> Explored:
    properties = {each.attrib["name"]: each.attrib["value"] for each in case.iter("property")}
    first, _, _ = properties.get("rocketmq_exploration", "".join(case.itertext())).partition("\n")
    failed = case.find("failure") is not None or case.find("error") is not None
    return Explored(
        application=Path(case.attrib["file"]).stem,
        name=case.attrib["name"],
        seconds=float(case.attrib["time"]),
        plan=first.removeprefix("failed: ") if failed else "",
    )


def _of(explored: list[Explored], application: str, name: str) -> Explored:
    [found] = [each for each in explored if each.application == application and name in each.name]
    return found


@pytest.mark.parametrize("application", PLANS)
def test_a_planted_bug_is_found_with_its_smallest_plan(explored: list[Explored], application: str) -> None:
    [found] = [each for each in explored if each.application == application and each.plan]

    assert "Broken" in found.name
    assert found.plan == PLANS[application]
    assert found.seconds < SECONDS_MAX


@pytest.mark.parametrize("application", PLANS)
def test_the_repaired_application_passes_each_plan(explored: list[Explored], application: str) -> None:
    assert _of(explored, application, "Repaired").plan == ""


@pytest.mark.parametrize("application", sorted(DEEP))
def test_a_bug_of_two_faults_survives_each_single_one(explored: list[Explored], application: str) -> None:
    assert _of(explored, application, "one_fault").plan == ""


def test_each_application_has_its_plan() -> None:
    assert sorted(PLANS) == sorted(each.stem for each in APPLICATIONS.glob("*.py"))
