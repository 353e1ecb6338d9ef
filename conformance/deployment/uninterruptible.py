"""Cleanup that a second Ctrl-C does not interrupt."""

import threading
from collections.abc import Callable


def run_uninterrupted(work: Callable[[], None]) -> None:
    """Run `work` to its end; a KeyboardInterrupt that arrives meanwhile is raised afterwards.

    A build server may send its signal twice, and the remains of an interrupted cleanup would stay. An exception of
    `work` is raised here, instead of the KeyboardInterrupt if there are both.
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
