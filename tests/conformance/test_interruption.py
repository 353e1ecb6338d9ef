"""Ctrl-C while SDK drivers run."""

from pathlib import Path

from interrupted_run import Moment, interrupted


def test_an_interrupted_run_leaves_no_driver_process_or_folder(tmp_path: Path) -> None:
    """An interrupted run leaves neither processes nor folders, and reports no errors for aborted scenarios."""

    def at_work(moment: Moment) -> bool:
        """True once two drivers of the Java remoting SDK run."""
        return sum("testkit.driver.remoting.Main" in line for line in moment.started) > 1

    words = ["--sdk", "java-remoting,java-grpc,python", "-k", "scenarios.groups or scenarios.plain", "--jobs", "3"]
    left = interrupted(tmp_path, words, at_work)
    assert left.code == 1
    assert "interrupted" in left.printed
    assert "ERROR" not in left.printed
    assert (left.processes, left.folders) == ([], [])
