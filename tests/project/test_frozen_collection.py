"""The garbage collector does not examine collected tests in workers of pytest-xdist."""

import subprocess
import sys
from pathlib import Path

import pytest

SUPPORT = Path(__file__).resolve().parents[1] / "support"
TEST = """
import gc


def test_of_frozen_objects():
    assert (gc.get_freeze_count() > 0) is {frozen}
"""


@pytest.mark.parametrize(("options", "frozen"), [(("-n", "1"), True), (("-p", "no:xdist"), False)])
def test_objects_of_the_collection_are_frozen_in_workers_only(
    options: tuple[str, str], frozen: bool, tmp_path: Path
) -> None:
    (tmp_path / "conftest.py").write_text("from frozen_collection import pytest_collection_finish\n")
    (tmp_path / "pytest.ini").write_text(f"[pytest]\npythonpath = {SUPPORT}\n")
    (tmp_path / "test_tea.py").write_text(TEST.format(frozen=frozen))
    command = [str(Path(sys.executable).with_name("pytest")), "-p", "no:cacheprovider", *options]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout
