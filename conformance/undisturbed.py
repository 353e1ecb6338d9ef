"""Clean-up that another Ctrl-C does not cut short."""

import threading
from collections.abc import Callable


def undisturbed(work: Callable[[], None]) -> None:
    """Carry it out to its end: a signal that would end the program meanwhile has its effect afterwards.

    A build server may send its signal twice, and what half a clean-up leaves behind nobody looks for. What the work
    raises is raised here.
    """
    raised: list[BaseException] = []

    def carry_out() -> None:
        try:
            work()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=carry_out, name="clean-up")
    thread.start()  # no daemon: should the signal come right here, the program ends after the work
    interruption: KeyboardInterrupt | None = None
    while thread.is_alive():
        try:
            thread.join(0.2)  # with a limit, so that the signal is seen
        except KeyboardInterrupt as signal:
            interruption = signal
    if raised:
        raise raised[0]
    if interruption is not None:
        raise interruption
