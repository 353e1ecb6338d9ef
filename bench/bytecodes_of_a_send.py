"""Counts the bytecodes of a send: prints one number for each protocol, remoting first.

`bench/without_faults.py` runs it with the packages and the clients in memory (`tests/support`) of each tree. Counted
are the bytecodes of engine and protocols, which do not vary with the load of the machine.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from protocol_clients import protocol_client
from rocketmq_testkit import emulator

PACKAGES = Path(emulator.__file__).parents[1]
COUNTED = tuple(str(PACKAGES / folder) for folder in ("emulator", "remoting", "grpc_v2"))
WARM_UP_SENDS = 20
COUNTS = 9


def bytecodes(work: Callable[[], object]) -> int:
    """Return the number of bytecodes that engine and protocols execute."""
    count = 0

    def traced(frame: FrameType, event: str, _argument: Any) -> Any:
        nonlocal count
        frame.f_trace_opcodes = True
        count += event == "opcode" and frame.f_code.co_filename.startswith(COUNTED)
        return traced

    sys.settrace(traced)
    try:
        work()
    finally:
        sys.settrace(None)
    return count


def main() -> None:
    """Print the median of several sends for each protocol."""
    for protocol in ("remoting", "grpc"):
        client = protocol_client(protocol)
        client.topic()
        for _ in range(WARM_UP_SENDS):
            client.put()
        print(sorted(bytecodes(client.put) for _ in range(COUNTS))[COUNTS // 2])


if __name__ == "__main__":
    main()
