"""The helper for Node tests: its own tests, and the files of its package."""

import json
import os
import re
import subprocess
from pathlib import Path

from command_line import COMMAND

HELPER = Path(__file__).resolve().parents[2] / "clients" / "node"
SECONDS = 300


def test_tests_of_the_helper_pass() -> None:
    done = subprocess.run(
        ["node", "--test", "test/"],
        cwd=HELPER,
        env={**os.environ, "ROCKETMQ_EMULATOR": COMMAND},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    source = (HELPER / "test" / "rocketmq.test.js").read_text(encoding="utf-8")
    declared = re.findall(r"^(?:test| *await t\.test)\(", source, re.MULTILINE)
    assert f"# pass {len(declared)}\n" in done.stdout


def test_package_has_the_sources_the_types_and_the_page() -> None:
    done = subprocess.run(
        ["npm", "pack", "--dry-run", "--json"], cwd=HELPER, capture_output=True, text=True, timeout=SECONDS, check=True
    )
    files = {each["path"] for each in json.loads(done.stdout)[0]["files"]}
    sources = {f"src/{each.name}" for each in (HELPER / "src").glob("*.js")}
    assert files == {*sources, "package.json", "index.d.ts", "README.md"}
    types = (HELPER / "index.d.ts").read_text(encoding="utf-8")
    assertions = re.findall(r"async (assert\w+)\(", (HELPER / "src" / "assertions.js").read_text(encoding="utf-8"))
    assert [name for name in assertions if f"  {name}(" not in types] == []
