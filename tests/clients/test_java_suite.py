"""The own tests of the helper library for Java tests."""

import re
import shutil
from pathlib import Path

import page_snippets
import pytest
from maven import Maven, passed

HELPER = Path(__file__).resolve().parents[2] / "clients" / "java"


@pytest.mark.executable
def test_tests_of_the_helper_pass(tmp_path: Path) -> None:
    maven = Maven.create(tmp_path / "local")
    shutil.copytree(HELPER, tmp_path / "helper", ignore=shutil.ignore_patterns("target"))
    with page_snippets.no_python_in_path(tmp_path / "bin"):
        maven.run(tmp_path / "helper", "test")
    maven.keep_downloads()
    declared = [
        name
        for file in (HELPER / "src" / "test").rglob("*Test.java")
        for name in re.findall(r"^    @Test\n    void (\w+)\(", file.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    ran = {re.sub(r"\(.*", "", name.rpartition(".")[2]) for name in passed(tmp_path / "helper")}
    assert set(declared) <= ran
