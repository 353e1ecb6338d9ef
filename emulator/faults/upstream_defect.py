"""A defect of Apache RocketMQ: its effect on clients, its source, and the cases that show it."""

from dataclasses import KW_ONLY

from ..kernel.value_class import frozen_value


@frozen_value
class UpstreamDefect:
    """One defect.

    `versions`: the recorded versions that have it. `upstream`: one sentence about its effect on clients. `source`: the
    class of upstream. `shown_by`: conformance cases, and scenarios as `scenario@sdk`, whose recorded outcome it causes;
    a case that several defects name needs all of them. It is empty if the outcome of no case depends on the defect.
    """

    name: str
    versions: tuple[str, ...]
    upstream: str
    source: str
    _: KW_ONLY
    shown_by: tuple[str, ...]
