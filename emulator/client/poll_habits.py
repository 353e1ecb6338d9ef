"""Poll habits of SDKs: the intervals after which a consumer requests a queue that is new to it.

They pass by the SDK's own clock, so a jump of the emulator's clock does not shorten them.
"""

from collections.abc import Mapping

GRPC_SDK = "a gRPC SDK queries its assignments when it starts and every 5 s after that"
REMOTING_SDKS: Mapping[str, str] = {
    "JAVA": (
        "the Java remoting SDK rebalances every 20 s (system property rocketmq.client.rebalance.waitInterval) and "
        "looks for new topics every 30 s (setPollNameServerInterval)"
    ),
    "GO": "the Go remoting SDK rebalances every 20 s and looks for new topics every 30 s",
    "CPP": "the C++ SDK rebalances every 10 s and looks for new topics every 30 s",
}
"""Intervals that delay a remoting SDK's first request for a new queue, by the language in its heartbeats."""
OTHER_SDK = "its SDK rebalances and looks for new topics by a clock of its own"


def habit_of(language: str, *, through_proxy: bool) -> str:
    """Return the intervals of an SDK as a clause, by the language in its heartbeats."""
    return GRPC_SDK if through_proxy else REMOTING_SDKS.get(language, OTHER_SDK)
