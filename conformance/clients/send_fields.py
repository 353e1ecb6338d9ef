"""Fields of a message that cases send with the remoting protocol."""

from collections.abc import Mapping
from typing import TypedDict


class SendFields(TypedDict, total=False):
    """Fields of a send. None omits a field.

    `queue` is the field `queueId` of the header. `tag`, `keys` and `properties` make up its field `properties`, with a
    new message id (UNIQ_KEY) unless `properties` has one, or `unique` is False, which is the default of batches. The
    other fields have their names in the header.
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
