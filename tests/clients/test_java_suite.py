"""The own tests of the helper library for Java tests, and the commands of its page, which pack no artifact."""

import re
import shlex
import shutil
from pathlib import Path

import page_snippets
import pytest
from maven import Maven, passed

PAGE = "docs/java.md"
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


@pytest.mark.executable
def test_page_leads_from_an_empty_folder_to_a_passing_test(tmp_path: Path) -> None:
    """The commands and files of docs/java.md work with the paths of this tree and an installed command."""
    maven = Maven.create(tmp_path / "local")
    project = tmp_path / "project"
    project.mkdir()
    first = page_snippets.snippets(PAGE, before="## What a test can do")
    assert page_snippets.write_files(first, project) == {"pom.xml", "src/test/java/OrdersTest.java"}
    [commands] = [each.text for each in first if each.language == "sh" and "mvn" in each.text]
    copy = tmp_path / "tree" / "clients" / "java"
    shutil.copytree(HELPER, copy, ignore=shutil.ignore_patterns("target"))
    script = commands.replace(page_snippets.TREE, shlex.quote(str(tmp_path / "tree")))
    with page_snippets.no_python_in_path(tmp_path / "bin"):
        maven.call(project, "sh", "-eu", "-c", script)
    maven.keep_downloads()
    assert passed(project) == ["OrdersTest.orderThatCannotBeShippedIsADeadLetter(RocketMQ)"]
