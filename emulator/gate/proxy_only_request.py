"""Requests of clients that the proxy answers without an operation of one broker, as rules of faults see them."""

from collections.abc import Mapping, Sequence

from ..kernel.value_class import parts
from ..operations.base import Operation
from .raw_request import RawRequest


@parts
class ProxyOnlyRequest:
    """A request that the proxy refuses, or that it carries out for all brokers at once.

    `operation` is what it does to each broker, None of a refused request. `names` are the names of operations that
    select it, besides its own. `messages` are body and properties of each message in the request.
    """

    request: RawRequest
    operation: Operation | None
    names: tuple[str, ...]
    topics: tuple[str, ...]
    groups: tuple[str, ...]
    messages: Sequence[tuple[bytes, Mapping[str, str]]]
