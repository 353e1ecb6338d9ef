"""A situation of the matrix: one rule of faults, and the use of an SDK that meets it."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal

from rocketmq_testkit.emulator.faults.fault import KINDS

Use = Literal["send", "start", "consume", "transaction", "postpone"]
"""The use of an SDK: send, start a producer and send, consume, leave a transaction open, or postpone a message."""
OFTEN = frozenset({"times", "nth", "every", "after"})
"""Criteria that limit how often a rule fires."""
NAME = "{name}"
"""A parameter with this value is the name of the topic and of the group of the workload."""


@dataclass(frozen=True, slots=True)
class Situation:
    """One rule and the workload that meets it.

    `sentence`: the fault with its parameters, for readers. `grpc`: parameters for gRPC SDKs, if they differ.
    `criteria`: those of the rule, and how often it fires (once, if nothing is given; `times` None for no limit).

    The workload: `count` messages with bodies of `size` bytes, which the application sends `together` or one after the
    other. `listener_ms`: time that the consumer's listener takes. `fails`: each first delivery fails. `orderly`: the
    consumer gets messages in order. `stops`: a broker that stops after the rule is added. `crashes`: the brokers crash
    after the consumer has got all messages. `tls`: the SDK uses TLS. `fresh`: it is a new process without connections.
    `options`: those of the emulator.

    `hold_s`: the rule is removed after this time. `pause_s`: pause before the last message. `watch_s`: the observation
    lasts at least this long after the result.
    """

    kind: str
    sentence: str
    use: Use = "send"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    _: KW_ONLY
    grpc: Mapping[str, Any] = field(default_factory=dict)
    criteria: Mapping[str, Any] = field(default_factory=dict)
    count: int = 1
    size: int = 0
    together: bool = False
    listener_ms: int = 0
    fails: bool = False
    orderly: bool = False
    stops: str | None = None
    crashes: bool = False
    tls: bool = False
    fresh: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    hold_s: float | None = None
    pause_s: float = 0
    watch_s: float = 0.7

    @property
    def layer(self) -> str:
        """The layer of its kind."""
        return KINDS[self.kind].KIND.layer

    def rule(self, protocol: str, name: str = "orders") -> dict[str, Any]:
        """Return the rule for SDKs of a protocol, as files hold it."""
        given = self.grpc if protocol == "grpc" and self.grpc else self.parameters
        parameters = {each: name if value == NAME else value for each, value in given.items()}
        often = {each: value for each, value in self.criteria.items() if each in OFTEN}
        if not often:
            often = {"times": 1}
        when = {each: value for each, value in self.criteria.items() if each not in OFTEN}
        then: Any = {self.kind: parameters} if parameters else self.kind
        limits = {each: value for each, value in often.items() if value is not None}
        return {**({"when": when} if when else {}), "then": then, **limits}
