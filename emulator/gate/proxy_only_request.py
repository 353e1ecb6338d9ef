"""Requests of gRPC clients that are not an operation of one broker, in the form that fault rules match."""

from collections.abc import Mapping, Sequence

from ..kernel.value_class import parts
from ..operations.base import Operation
from .raw_request import RawRequest


@parts
class ProxyOnlyRequest:
    """A request that the proxy refuses, or that it carries out at all brokers.

    `operation` is the operation at each broker, None for a refused request. `names` are further names of operations by
    which a rule can select the request. `messages` are body and properties of each message in the request.
    """

    request: RawRequest
    operation: Operation | None
    names: tuple[str, ...]
    topics: tuple[str, ...]
    groups: tuple[str, ...]
    messages: Sequence[tuple[bytes, Mapping[str, str]]]
