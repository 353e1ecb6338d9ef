"""Fields of a message that cases send with the remoting protocol."""

from collections.abc import Mapping
from typing import TypedDict


class SendFields(TypedDict, total=False):
    """Fields of a send, named as in the header; None omits a field.

    `unique`: True (the default) adds a client-generated message id.
    """

    queue: int | str | None
    tag: str | None
    keys: str | None
    properties: Mapping[str, str] | None
    unique: bool
    producerGroup: object
    defaultTopic: object
    defaultTopicQueueNums: object
    sysFlag: object
    bornTimestamp: object
    flag: object
    reconsumeTimes: object
    unitMode: object
    maxReconsumeTimes: object
    batch: object
    brokerName: object
