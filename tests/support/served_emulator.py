"""An emulator in another process, which the command `rocketmq-emulator` runs."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from command_line import ANY_PORTS, COMMAND


@contextmanager
def served_emulator(*options: str) -> Iterator[str]:
    """Run `rocketmq-emulator` on free ports until the end of the block. Yields the URL of its control port."""
    command = [COMMAND, *ANY_PORTS, *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())["control"]
        finally:
            process.terminate()
