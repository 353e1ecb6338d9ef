"""Cleanup that a second Ctrl-C does not interrupt."""

import threading
from collections.abc import Callable


def run_uninterrupted(work: Callable[[], None]) -> None:
    """Run `work` to its end; a signal that would end the program takes effect afterwards.

    A build server may send its signal twice, and the remains of an interrupted cleanup would stay. Exceptions of `work`
    are raised here.
    """
    raised: list[BaseException] = []

    def carry_out() -> None:
        try:
            work()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=carry_out, name="clean-up")
    thread.start()  # no daemon: if the signal arrives right here, the program ends after the work
    interruption: KeyboardInterrupt | None = None
    while thread.is_alive():
        try:
            thread.join(0.2)  # with a timeout, so that the signal is noticed
        except KeyboardInterrupt as signal:
            interruption = signal
    if raised:
        raise raised[0]
    if interruption is not None:
        raise interruption
