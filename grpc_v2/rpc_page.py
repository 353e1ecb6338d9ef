"""Generate the page of RPCs from their table.

`python -m rocketmq_testkit.grpc_v2.rpc_page` prints it; a test holds `docs/rpcs.md` to it.
"""

import sys
from collections.abc import Iterator

from rocketmq_testkit.emulator import deviation

from .deviations import DEVIATIONS
from .proxy.rpc_table import Rpc
from .rules.status import code_name
from .services import RPCS

_HEAD = """\
# RPCs

Every RPC of `apache.rocketmq.v2.MessagingService` that the proxy of Apache RocketMQ 5.3.3 registers, and what the
emulator does with it. This page is made from the table of RPCs by
`python -m rocketmq_testkit.grpc_v2.rpc_page > docs/rpcs.md`.

Results travel as a Status inside an answer whose gRPC status is OK; the last column lists the codes besides OK, with
upstream's texts. Telemetry ends a stream with a gRPC status instead (INVALID_ARGUMENT, INTERNAL). Methods that are not
listed, `Admin` among them, are answered UNIMPLEMENTED, as upstream answers them.
"""

_DIFFERENCES = """\
## Deliberate differences

Where upstream's way only harms, the emulator goes another one whatever its configuration. All other differences are
configuration keys with upstream's behaviour as their default (`docs/config-keys.md`).
"""


def page() -> str:
    """Return the page as Markdown."""
    return "\n".join([_HEAD, *_table(), "", _DIFFERENCES, deviation.table(DEVIATIONS)])


def _table() -> Iterator[str]:
    yield "| RPC | kind | what it does | asks the engine | codes besides OK |"
    yield "|---|---|---|---|---|"
    for rpc in RPCS:
        operations = ", ".join(operation.__name__ for operation in rpc.operations)
        yield f"| {rpc.name} | {rpc.kind.value} | {rpc.about} | {operations} | {_codes(rpc)} |"


def _codes(rpc: Rpc) -> str:
    return ", ".join(f"{code} {code_name(code)}" for code in sorted(rpc.codes))


if __name__ == "__main__":
    sys.stdout.write(page())
