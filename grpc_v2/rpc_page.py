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

Engine operations are the requests that the proxy sends to a broker or name server for an RPC. The journal and the
criteria of [faults](faults.md) use these names, too. ClientResponded is a client's response to a request of a broker.
Two operations are no requests of clients, and no rule of faults acts on them: DropInactiveRequests drops long polls
that no client waits for any more, and ChannelClosed removes a client that has left.

A result is a Status inside a response whose gRPC status is OK. The last column lists the codes other than OK; their
texts are upstream's. The column leaves out UNAUTHORIZED for denied requests, and TOO_MANY_REQUESTS for requests that
a full thread pool rejects with [`flowLimitAnswerEnable`](config-keys.md#grpc-proxy). For invalid settings, Telemetry
ends its stream with a gRPC status (INVALID_ARGUMENT, INTERNAL). Methods that are not listed, such as those of `Admin`,
return UNIMPLEMENTED, as in upstream.

A ReceiveMessage does not return each message that it pops: it acknowledges one whose tag is not among those of the
subscription, and moves one that was delivered too often to the dead letter queue (SendMessageBack, AckMessage).
"""

_DIFFERENCES = """\
## Deliberate differences

The emulator differs from 5.3.3 in these rows with every configuration, except that an empty `settingsPushAgainMillis`
stops the repetition of settings. A fault can switch on the defects in the last column, as in
`faults.upstream_defect("route_cache")`. A difference that is not listed here needs [a configuration
key](config-keys.md), whose default is upstream's behavior.
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
