"""Regenerates the generated pages of docs/, tables in other pages, and data types of the helpers.

`python scripts/pages.py`

The full lists of behaviors are not committed; `scripts/website.py` builds them into the documentation site.
"""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import config_page
import floors
import metrics_table
import reason_table
import schedule_table
from helper_types import files
from rocketmq_testkit.conformance.outcomes import not_compared
from rocketmq_testkit.conformance.outcomes.recorded_outcomes import RecordedOutcomes
from rocketmq_testkit.conformance.pages import behavior_page

ROOT = Path(__file__).resolve().parent.parent
MODULES: Mapping[str, str] = {
    "request-codes.md": "rocketmq_testkit.remoting.request_code_page",
    "rpcs.md": "rocketmq_testkit.grpc_v2.rpc_page",
    "control-api.md": "rocketmq_testkit.fixtures.control.reference_page",
    "openapi.json": "rocketmq_testkit.fixtures.control.openapi_page",
    "fault-kinds.md": "rocketmq_testkit.conformance.pages.fault_kinds_page",
    "state.md": "rocketmq_testkit.fixtures.state_table",
    "spark-options.md": "pyspark_rocketmq.options_page",
}
"""Pages that a module prints; the other pages are made here."""


def main() -> int:
    """Write all pages."""
    docs = ROOT / "docs"
    (docs / "config-keys.md").write_text(config_page.page())
    for name, module in MODULES.items():
        printed = subprocess.run([sys.executable, "-m", module], cwd=ROOT / "scripts", capture_output=True, check=True)
        (docs / name).write_bytes(printed.stdout)
    (docs / behavior_page.NAME).write_text(behavior_page.index(RecordedOutcomes()))
    conformance = docs / "conformance.md"
    conformance.write_text(with_table(conformance.read_text(), list(not_compared.rows())))
    debugging = docs / "debugging.md"
    debugging.write_text(with_table(debugging.read_text(), reason_table.table()))
    metrics = docs / "metrics.md"
    text = metrics.read_text()
    for table in (metrics_table.upstream(), metrics_table.own(), metrics_table.differences()):
        text = with_table(text, table)
    metrics.write_text(text)
    files.write()
    architecture = ROOT / "ARCHITECTURE.md"
    architecture.write_text(with_table(architecture.read_text(), floors.table()))
    contributing = ROOT / "CONTRIBUTING.md"
    text = contributing.read_text()
    contributing.write_text(with_table(text, schedule_table.table(text)))
    changelog = ROOT / "CHANGELOG.md"
    changelog.write_text(schedule_table.with_summary(changelog.read_text(), schedule_table.summary()))
    return 0


def test_files() -> list[str]:
    """Return the paths of all test files, relative to the root."""
    return sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("test_*.py"))


def with_table(page: str, table: list[str]) -> str:
    """Replace the table with the same head in a page; the text around the table stays."""
    before, head, rest = page.partition(table[0])
    _, end, after = rest.partition("\n\n")
    if not head or not end:
        raise ValueError(f"the page has no table with the head {table[0]}")
    return before + "\n".join(table) + end + after


if __name__ == "__main__":
    sys.exit(main())
