"""The verbs for load measurements: ``send_many`` and ``drain``."""

import threading
import time
from collections.abc import Callable

from .command import Command, bad
from .line import Fields


def send_many(command: Command, send: Callable[[bytes, list[str] | None], object]) -> Fields:
    """Send ``count`` messages from ``threads`` threads; ``send`` is called with body and keys of one message."""
    count = command.number("count")
    if count < 1:
        raise bad("count must be positive")
    stem: bytes | None = command.data("body", None)
    size = command.number("size", 1024)
    prefix: str | None = command.text("keys_prefix", None)
    numbers = iter(range(count))
    times: list[float] = []
    errors: list[BaseException] = []

    def work() -> None:
        # next() of a range iterator is atomic in the interpreter, so no number occurs twice.
        for n in numbers:
            end = f"-{n}".encode()
            body = (b"x" * (size - len(end)) if stem is None else stem) + end
            begin = time.monotonic()
            try:
                send(body, None if prefix is None else [f"{prefix}{n}"])
            except Exception as error:
                errors.append(error)
            times.append(time.monotonic() - begin)

    seconds = _together(command, work)
    times.sort()
    return {
        "count": count,
        "errors": len(errors),
        "first_error": str(errors[0]) if errors else None,
        "per_second": round(count / seconds, 1),
        "p50_ms": round(times[count // 2] * 1000, 3),
        "p99_ms": round(times[min(count - 1, count * 99 // 100)] * 1000, 3),
    }


def drain(command: Command, take: Callable[[], tuple[int, int]]) -> Fields:
    """Receive and acknowledge from ``threads`` threads until ``count`` messages are done or a receive is empty.

    ``take`` does both once; it returns the number of received messages, and how many of them it failed to acknowledge.
    """
    count = command.number("count")
    if count < 1:
        raise bad("count must be positive")
    done: list[int] = []
    failures: list[int] = []
    errors: list[BaseException] = []

    def work() -> None:
        while sum(done) < count:
            try:
                got, failed = take()
            except Exception as error:
                errors.append(error)
                return
            if not got:
                return
            done.append(got - failed)
            failures.append(failed)

    seconds = _together(command, work)
    return {
        "count": sum(done),
        "errors": sum(failures) + len(errors),
        "first_error": str(errors[0]) if errors else None,
        "per_second": round(sum(done) / seconds, 1),
    }


def _together(command: Command, work: Callable[[], None]) -> float:
    threads = [threading.Thread(target=work) for _ in range(max(1, command.number("threads", 1)))]
    begin = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return max(time.monotonic() - begin, 1e-9)
