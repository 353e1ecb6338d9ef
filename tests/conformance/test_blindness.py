"""Cases and scenarios do not depend on their target."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from rocketmq_testkit.conformance import cases, scenarios

SUITE = "rocketmq_testkit.conformance."
FORBIDDEN = ("deployment.", "targets.", "runner.", "report.", "outcomes.", "rocketmq_testkit.fixtures")
"""Beginnings of forbidden imports: parts of the suite that distinguish targets or read records, and the emulator."""
OF_A_PLACE = {"access", "kill", "name_server_stopped", "now_ms", "restart", "start", "stopped"}
"""Attributes of a deployment that cases may use: addresses, time, and methods that stop and start servers."""


def imported(node: ast.AST) -> Iterator[str]:
    """Yield the full names that an import binds, without the prefix of the suite."""
    if isinstance(node, ast.Import):
        yield from (alias.name.removeprefix(SUITE) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        yield from (f"{node.module}.{alias.name}".removeprefix(SUITE) for alias in node.names)


def knowledge(text: str) -> Iterator[str]:
    """Yield each forbidden import or attribute of a module."""
    for node in ast.walk(ast.parse(text)):
        for name in imported(node):
            if name.startswith(FORBIDDEN) and name != "deployment.target.Capability":
                yield f"it imports {name}"
        if isinstance(node, ast.Attribute):
            of_a_deployment = isinstance(node.value, ast.Attribute) and node.value.attr == "deployment"
            if (of_a_deployment and node.attr not in OF_A_PLACE) or node.attr in ("capabilities", "jumps", "emulated"):
                yield f"line {node.lineno} uses {node.attr}"


@pytest.mark.parametrize("folder", [cases, scenarios], ids=["cases", "scenarios"])
def test_no_case_or_scenario_imports_a_target(folder: object) -> None:
    """No case or scenario imports a target, or uses more of a deployment than OF_A_PLACE."""
    [path, *_] = getattr(folder, "__path__")  # noqa: B009 a package, for which mypy has no type
    files = sorted(Path(path).rglob("*.py"))
    assert len(files) > 10
    found = {each.relative_to(path).as_posix(): list(knowledge(each.read_text())) for each in files}
    assert {name: known for name, known in found.items() if known} == {}


@pytest.mark.parametrize(
    "line",
    [
        "from ..targets.emulator import EmulatorTarget",
        "from ..deployment.target import Capability, Place",
        "from ..outcomes.truth import Truth",
        "from rocketmq_testkit.fixtures import Emulator",
        "import rocketmq_testkit.conformance.runner.run",
        "if t.deployment.has_virtual_time: pass",
        "t.deployment.pass_ms(1)",
    ],
)
def test_the_check_finds_each_kind_of_forbidden_import_and_attribute(line: str) -> None:
    assert list(knowledge(line)) != []
