"""A defect of Apache RocketMQ: its effect on clients, its source, and the cases that show it."""

from dataclasses import KW_ONLY

from ..kernel.value_class import frozen_value


@frozen_value
class UpstreamDefect:
    """One defect.

    `versions`: those that have it, among the versions in `conformance/recorded/`. `effect`: one sentence about clients.
    `source`: the class of upstream. `shown_by`: the conformance cases, and the scenarios as `scenario@sdk`, whose
    recorded outcome needs this defect. An outcome needs all defects that name its case.
    """

    name: str
    versions: tuple[str, ...]
    effect: str
    source: str
    _: KW_ONLY
    shown_by: tuple[str, ...]
