"""Generate the page of RPCs from their table.

`python -m rocketmq_testkit.grpc_v2.rpc_page` prints it; a test compares `docs/rpcs.md` with it.
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

All RPCs of `apache.rocketmq.v2.MessagingService` that the proxy of Apache RocketMQ 5.3.3 registers, and how the
emulator handles them. This page is generated from the table of RPCs by
`python -m rocketmq_testkit.grpc_v2.rpc_page > docs/rpcs.md`.

A result is a Status inside a response whose gRPC status is OK. The last column lists the codes other than OK; their
texts are upstream's. Telemetry ends its stream with a gRPC status instead (INVALID_ARGUMENT, INTERNAL). Methods that
are not listed, such as those of `Admin`, return UNIMPLEMENTED, as in upstream.
"""

_DIFFERENCES = """\
## Deliberate differences

No configuration key gives the emulator these defects of upstream, except an empty `settingsPushAgainMillis`. A fault
can switch on those with a name in the last column: `faults.upstream_defect("route_cache")`. All other differences are
configuration keys with upstream's behavior as their default (`docs/config-keys.md`).
"""


def page() -> str:
    """Return the page as Markdown."""
    return "\n".join([_HEAD, *_table(), "", _DIFFERENCES, deviation.table(DEVIATIONS)])


def _table() -> Iterator[str]:
    yield "| RPC | kind | purpose | engine operations | codes other than OK |"
    yield "|---|---|---|---|---|"
    for rpc in RPCS:
        operations = ", ".join(operation.__name__ for operation in rpc.operations)
        yield f"| {rpc.name} | {rpc.kind.value} | {rpc.summary} | {operations} | {_codes(rpc)} |"


def _codes(rpc: Rpc) -> str:
    return ", ".join(f"{code} {code_name(code)}" for code in sorted(rpc.codes))


if __name__ == "__main__":
    sys.stdout.write(page())
