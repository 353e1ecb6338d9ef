"""An emulator in another process, which the command `rocketmq-emulator` runs."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def served_emulator(*options: str) -> Iterator[str]:
    """Run `rocketmq-emulator` on free ports until the end of the block. Yields the URL of its control port."""
    ports = [word for name in ("namesrv", "broker", "grpc", "control") for word in (f"--{name}-port", "0")]
    command = [str(Path(sys.executable).with_name("rocketmq-emulator")), *ports, *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())["control"]
        finally:
            process.terminate()
