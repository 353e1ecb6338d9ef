"""A program that has started the emulator: its end, which must end the emulator, and a pause of the emulator."""

import os
import select
import signal
import subprocess
from pathlib import Path

END_SECONDS_MAX = 2.0
"""The documented limit of the time from the end of the parent to the end of the emulator's process."""


def check_emulator_ends_with(parent: subprocess.Popen[str]) -> None:
    """Kill a program whose only child is the emulator. The emulator's process must end in time."""
    emulator = os.pidfd_open(_child(parent))
    try:
        ended = select.poll()
        ended.register(emulator, select.POLLIN)
        assert ended.poll(0) == [], "the emulator has ended before its parent"
        parent.kill()
        in_time = ended.poll(END_SECONDS_MAX * 1000) != []
        if not in_time:
            signal.pidfd_send_signal(emulator, signal.SIGKILL)
        assert in_time, f"the emulator's process runs {END_SECONDS_MAX} s after the end of its parent"
    finally:
        os.close(emulator)


def stop_emulator_of(parent: subprocess.Popen[str]) -> None:
    """Pause the process of the emulator, which is the only child of a program, as SIGSTOP does."""
    os.kill(_child(parent), signal.SIGSTOP)


def _child(parent: subprocess.Popen[str]) -> int:
    [child] = Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text(encoding="ascii").split()
    return int(child)
