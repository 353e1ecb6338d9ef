"""Refusals that the proxy passes on: one request of a client, refused by a broker and then by the proxy."""

from collections.abc import Iterable

from .events import RefusedRequest

PROXY = "proxy"


def original_refusals(refused: Iterable[RefusedRequest]) -> list[RefusedRequest]:
    """Return refused requests without those of the proxy that only pass on the refusal of a broker."""
    found = list(refused)
    of_brokers = {_request(each) for each in found if each.node != PROXY}
    return [each for each in found if each.node != PROXY or _request(each) not in of_brokers]


def _request(refused: RefusedRequest) -> tuple[int, str, str]:
    """Return time, connection and label: the proxy passes a refusal on at the same time, with the same label."""
    return refused.at_ms, refused.channel, refused.label
