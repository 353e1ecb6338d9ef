"""What cases say of a message that they send by the remoting protocol."""

from collections.abc import Mapping
from typing import TypedDict


class SendFields(TypedDict, total=False):
    """What a send says of its message; each field of the header by its long name, None leaves it out.

    `unique`: with a message id of the client's own, which is so unless said otherwise.
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
