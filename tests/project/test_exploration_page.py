"""The page about explorations: its report of a failure, its plan, and the same plan as a rule of an emulator."""

import subprocess
import sys
from pathlib import Path

import page_snippets

PAGE = "docs/exploration.md"
GUARD = "        if order not in self.charged:\n    "
SHIP, ACKNOWLEDGE = (
    '            with open(ledger, "a") as shipped:\n                print(*message.keys, file=shipped)\n',
    "            consumer.ack(message)\n",
)


def write(folder: Path, name: str, *changes: tuple[str, str]) -> None:
    """Write a test of the page with some changes, each an old text, which occurs once, and the new one."""
    program = page_snippets.only(PAGE, "python", f"# {name}")
    for old, new in changes:
        assert program.count(old) == 1
        program = program.replace(old, new)
    (folder / name).write_text(program, encoding="utf-8")


def failing(folder: Path, *words: str) -> str:
    """Run a test that fails; return the output of pytest."""
    command = [str(Path(sys.executable).parent / "pytest"), "-p", "no:cacheprovider", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


def test_the_report_of_the_page_is_printed_and_its_plan_fails_again(tmp_path: Path) -> None:
    """The test of the page fails without its `if`, with the printed plan, and again if that plan is repeated."""
    write(tmp_path, "test_billing.py", (GUARD, "    "))
    report = page_snippets.only(PAGE, "text", "repeat it with")

    assert report in failing(tmp_path, "test_billing.py")

    (tmp_path / "plan.yaml").write_text(report[report.index("- at") :], encoding="utf-8")
    assert "1 run of a given plan" in failing(tmp_path, "--rocketmq-plan=plan.yaml", "test_billing.py")


def test_the_rule_of_the_page_repeats_its_plan(tmp_path: Path) -> None:
    """The test of the page without exploration fails with the rule, and reports two orders."""
    program = page_snippets.only(PAGE, "python", "# test_billing.py")
    marker = program[program.index("@pytest.mark.rocketmq_explore") : program.index("def test_billing")]
    write(tmp_path, "test_billing.py", (GUARD, "    "), (marker, '@pytest.mark.rocketmq(faults=["rules.yaml"])\n'))
    (tmp_path / "rules.yaml").write_text(page_snippets.only(PAGE, "yaml", "nth"), encoding="utf-8")

    assert "assert ['order-7', 'order-7'] == ['order-7']" in failing(tmp_path, "test_billing.py")


def test_an_application_that_acknowledges_first_fails_with_the_plan_of_the_page(tmp_path: Path) -> None:
    write(tmp_path, "test_shipping.py", (SHIP + ACKNOWLEDGE, ACKNOWLEDGE + SHIP))

    printed = failing(tmp_path, "test_shipping.py")

    plan = "crash() is called before the first acknowledgement of order-7"
    assert plan in printed
    assert plan in " ".join((page_snippets.ROOT / PAGE).read_text(encoding="utf-8").split())
