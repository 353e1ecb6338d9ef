"""Message properties: their names and their encoding.

The encoding is `name 0x01 value 0x02`, repeated. Pairs with an empty name or value are dropped, as upstream drops them.
Source: MessageConst, MessageDecoder.string2messageProperties (5.3.3).
"""

import re
from collections.abc import Mapping

KEYS = "KEYS"
TAGS = "TAGS"
WAIT = "WAIT"
DELAY = "DELAY"
RETRY_TOPIC = "RETRY_TOPIC"
REAL_TOPIC = "REAL_TOPIC"
REAL_QUEUE_ID = "REAL_QID"
TRANSACTION_PREPARED = "TRAN_MSG"
PRODUCER_GROUP = "PGROUP"
ORIGIN_MESSAGE_ID = "ORIGIN_MESSAGE_ID"
RECONSUME_TIME = "RECONSUME_TIME"
MSG_REGION = "MSG_REGION"
TRACE_ON = "TRACE_ON"
CLUSTER = "CLUSTER"
UNIQ_KEY = "UNIQ_KEY"
POP_CK = "POP_CK"
FIRST_POP_TIME = "1ST_POP_TIME"
TRANSACTION_ID = "__transactionId__"
TRANSACTION_CHECK_TIMES = "TRANSACTION_CHECK_TIMES"
CHECK_IMMUNITY_TIME_IN_SECONDS = "CHECK_IMMUNITY_TIME_IN_SECONDS"
TRAN_PREPARED_QUEUE_OFFSET = "TRAN_PREPARED_QUEUE_OFFSET"
TIMER_DELAY_SEC = "TIMER_DELAY_SEC"
TIMER_DELAY_MS = "TIMER_DELAY_MS"
TIMER_DELIVER_MS = "TIMER_DELIVER_MS"
TIMER_OUT_MS = "TIMER_OUT_MS"
TIMER_ENQUEUE_MS = "TIMER_ENQUEUE_MS"
TIMER_DEQUEUE_MS = "TIMER_DEQUEUE_MS"
TIMER_ROLL_TIMES = "TIMER_ROLL_TIMES"
TIMER_DEL_UNIQKEY = "TIMER_DEL_UNIQKEY"
SHARDING_KEY = "__SHARDINGKEY"
INNER_NUM = "INNER_NUM"
REPLY_TO_CLIENT = "REPLY_TO_CLIENT"
PUSH_REPLY_TIME = "PUSH_REPLY_TIME"
BORN_HOST = "__BORNHOST"
BORN_TIMESTAMP = "BORN_TIMESTAMP"
TRACE_CONTEXT = "TRACE_CONTEXT"
DLQ_ORIGIN_TOPIC = "DLQ_ORIGIN_TOPIC"
DLQ_ORIGIN_MESSAGE_ID = "DLQ_ORIGIN_MESSAGE_ID"

NAME_VALUE_SEPARATOR = "\x01"
PROPERTY_SEPARATOR = "\x02"

_LARGE = 262_144
_PAIRS_MAX = 16_384
"""The shortest pair takes four characters with its separators, and all pairs together may take 32,767."""
_PAIR = re.compile(r"[^\x02]++")


def decode(text: str) -> dict[str, str]:
    """Decode encoded properties; anything that is not a pair is skipped."""
    if len(text) > _LARGE:
        return _decode_large(text)
    found = {}
    for pair in text.split("\x02"):  # inlined, as in `encode`, because every record that is read passes here
        name, _, value = pair.partition("\x01")
        if name and value:
            found[name] = value
    return found


def _decode_large(text: str) -> dict[str, str]:
    """Decode properties far too long to be stored, without the memory that splitting them takes.

    Stops after 16,384 pairs: a message with more is refused because of the length of its properties.
    """
    found: dict[str, str] = {}
    for pair in _PAIR.finditer(text):
        name, _, value = pair.group().partition("\x01")
        if name and value:
            found[name] = value
            if len(found) > _PAIRS_MAX:
                break
    return found


def encode(properties: dict[str, str]) -> str:
    """Encode properties; empty values are left out."""
    return "".join([f"{name}\x01{value}\x02" for name, value in properties.items() if value])


def encode_with(text: str, properties: Mapping[str, str], name: str, value: str) -> str:
    """Set one property in an encoded text. `properties` are the properties that `text` encodes."""
    known = properties.get(name)
    if not known:
        return f"{text}{name}\x01{value}\x02"
    # A decoded value contains no property separator, so text that matches the pair is the pair.
    return f"\x02{text}".replace(f"\x02{name}\x01{known}\x02", f"\x02{name}\x01{value}\x02", 1)[1:]


def string_hash(text: str) -> int:
    """Return Java's String.hashCode: 31-polynomial over UTF-16 units, wrapped to a signed 32-bit number."""
    value = 0
    for unit in memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H"):
        value = (value * 31 + unit) & 0xFFFFFFFF
    return value - 0x100000000 if value & 0x80000000 else value
