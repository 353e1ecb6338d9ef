"""The pacer, which writes a connection's output in order while a fault pauses within it."""

from rocketmq_testkit.emulator.faults.pacer import Pacer
from rocketmq_testkit.emulator.kernel.scheduler import Scheduler


class Output:
    """A paced connection in virtual time."""

    def __init__(self) -> None:
        self.scheduler = Scheduler()
        self.written: list[tuple[int, bytes]] = []
        self.pacer = Pacer(lambda data: self.written.append((self.scheduler.now_ms, data)))

    def pace(self, *pieces: tuple[int, bytes]) -> None:
        """Send pieces, each as (pause before it in ms, bytes)."""
        self.pacer.pace(pieces, lambda ms, action: self.scheduler.call_later(ms, action, "test"))


def test_pieces_are_written_after_their_pauses_and_later_output_after_them() -> None:
    """Each pause starts when the previous piece was written."""
    output = Output()
    output.pacer.send(b"0")
    output.pace((0, b"1"), (10, b"2"), (5, b"3"))
    output.pacer.send(b"4")
    assert output.pacer.is_running
    output.scheduler.advance_to(100)
    output.pacer.send(b"5")
    assert output.written == [(0, b"0"), (0, b"1"), (10, b"2"), (15, b"3"), (15, b"4"), (100, b"5")]
    assert not output.pacer.is_running


def test_pieces_of_two_faults_follow_each_other() -> None:
    """The pauses of the second fault start after the last piece of the first one."""
    output = Output()
    output.pace((0, b"1"), (10, b"2"))
    output.pace((10, b"3"), (0, b"4"))
    output.scheduler.advance_to(100)
    assert output.written == [(0, b"1"), (10, b"2"), (20, b"3"), (20, b"4")]


def test_the_end_of_a_connection_waits_for_the_output_before_it() -> None:
    """The connection ends after the paused output before its end, or at once if there is none."""
    output = Output()
    ends: list[int] = []
    output.pacer.finish(lambda: ends.append(output.scheduler.now_ms))
    output.pace((7, b"1"))
    output.pacer.finish(lambda: ends.append(output.scheduler.now_ms))
    assert ends == [0]
    output.scheduler.advance_to(100)
    assert ends == [0, 7]
