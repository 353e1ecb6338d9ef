"""`bench/without_faults.py`, which measures two source trees in pairs; the median of their ratios decides."""

import re
import subprocess
import sys

import pytest
from namespace_links import ROOT

SCRIPT = ROOT / "bench" / "without_faults.py"
ROW = re.compile(r"\| (\w+) \| (\d+\.\d) \| (\d+\.\d) \| (\d\.\d{3}) \| (\d\.\d{3}) \| 1\.02 \|")

COUNTS = re.compile(r"\| (\w+) \| ([\d,]+) \| ([\d,]+) \| 1\.000 \| 1\.02 \|")


def run(*words: str) -> "subprocess.CompletedProcess[str]":
    """Run the script."""
    return subprocess.run([sys.executable, SCRIPT, *words], capture_output=True, text=True, timeout=120, check=False)


def test_a_tree_is_compared_with_itself_over_both_protocols() -> None:
    """One slice of sends is too short to judge ratios, so the test compares the exit code with the printed medians."""
    done = run(str(ROOT), str(ROOT), "--pairs", "1", "--sends", "1")
    rows = [found.groups() for line in done.stdout.splitlines() if (found := ROW.fullmatch(line))]
    assert [name for name, *_ in rows] == ["remoting", "gRPC"], done.stderr
    for _, before, after, ratio, median in rows:
        assert ratio == median
        assert abs(float(after) / float(before) - float(ratio)) < 0.02
    assert done.returncode == any(float(median) > 1.02 for *_, median in rows)
    counts = [found.groups() for line in done.stdout.splitlines() if (found := COUNTS.fullmatch(line))]
    assert [name for name, *_ in counts] == ["remoting", "gRPC"]
    assert all(before == after and int(before.replace(",", "")) > 1_000 for _, before, after in counts)


def test_an_unknown_tree_is_one_sentence(tmp_path: object) -> None:
    done = run("no-such-revision", str(ROOT))
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert "no-such-revision: neither a folder nor a git revision (" in done.stderr
    done = run(str(tmp_path), str(ROOT))
    assert done.returncode == 2
    assert f"{tmp_path}: has no scripts/namespace_links.py; " in done.stderr


@pytest.mark.parametrize(
    ("pairs", "ratio", "is_good"),
    [([(100.0, 101.9)], 1.019, True), ([(100.0, 103.0), (100.0, 90.0), (50.0, 52.0)], 1.03, False)],
)
def test_the_median_of_the_pairs_decides(
    monkeypatch: pytest.MonkeyPatch, pairs: list[tuple[float, float]], ratio: float, is_good: bool
) -> None:
    monkeypatch.syspath_prepend(ROOT / "bench")
    from without_faults import Row

    row = Row("remoting", pairs)
    assert (round(row.ratio, 3), row.is_good) == (ratio, is_good)
