"""The end of a standing fault, which undoes its effect."""

from rocketmq_testkit.emulator.faults.cluster_control import Undo


def test_an_undo_runs_its_action_once() -> None:
    ends: list[int] = []
    undo = Undo(lambda: ends.append(1))
    undo.end()
    undo.end()
    assert ends == [1]


def test_an_action_that_ends_its_own_fault_runs_once() -> None:
    ends: list[int] = []

    def action() -> None:
        ends.append(1)
        undo.end()

    undo = Undo(action)
    undo.end()
    assert ends == [1]
