"""Message properties: the table of their names, and their encoding.

A property is declared once, in the table here: its name, the party that sets it, and whether it is reserved, steers the
broker or belongs to a delay. Lists of names elsewhere derive from the table.

The encoding is `name 0x01 value 0x02`, repeated. Decoding drops pairs with an empty name or value, as upstream does.
Source: MessageConst, MessageDecoder.string2messageProperties (5.3.3).
"""

import re
from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple


class SetBy(Enum):
    """The party that sets a property of a stored message."""

    SENDER = "the client that sends the message, or the proxy for it"
    RECEIVING_BROKER = "the broker in each message that it receives, in place of any sent value"
    BROKER = "the broker, when it redirects, delays, redelivers or checks the message"
    POP = "the broker in the response to a pop; a sent value is removed"
    NOBODY = "no part of the emulator; a client may send it, and the broker stores it unchanged"


class Property(NamedTuple):
    """The facts about one property."""

    name: str
    set_by: SetBy
    reserved: bool
    """True if it is in MessageConst.STRING_HASH_SET.

    The proxy rejects it among the user properties of a sent message, and omits it from those of a received message.
    """
    steers: bool
    """True if it would make a broker treat a copy that a client sends as something else than a new message.

    It has the id, queue, transaction, delay or recall of the original, or the wish not to wait for a flush. Properties
    that a copy keeps, such as KEYS or INNER_MULTI_DISPATCH, may influence the broker as well.
    """
    delays: bool
    """True if it belongs to a delayed message, before or after its delivery."""


_declared: dict[str, Property] = {}


def _property(name: str, set_by: SetBy, *, reserved: bool = True, steers: bool = False, delays: bool = False) -> str:
    """Declare a property and return its name. Raises AssertionError for a second declaration."""
    if name in _declared:
        raise AssertionError(f"{name} is declared twice")
    _declared[name] = Property(name, set_by, reserved, steers or delays, delays)
    return name


KEYS = _property("KEYS", SetBy.SENDER)
TAGS: str = _property("TAGS", SetBy.SENDER)
WAIT = _property("WAIT", SetBy.SENDER, steers=True)
DELAY = _property("DELAY", SetBy.SENDER, delays=True)
RETRY_TOPIC = _property("RETRY_TOPIC", SetBy.BROKER, steers=True)
REAL_TOPIC = _property("REAL_TOPIC", SetBy.BROKER, steers=True)
REAL_QUEUE_ID = _property("REAL_QID", SetBy.BROKER, steers=True)
TRANSACTION_PREPARED = _property("TRAN_MSG", SetBy.SENDER, steers=True)
PRODUCER_GROUP = _property("PGROUP", SetBy.SENDER, steers=True)
ORIGIN_MESSAGE_ID = _property("ORIGIN_MESSAGE_ID", SetBy.BROKER)
RECONSUME_TIME = _property("RECONSUME_TIME", SetBy.SENDER)
MSG_REGION = _property("MSG_REGION", SetBy.RECEIVING_BROKER)
TRACE_ON = _property("TRACE_ON", SetBy.RECEIVING_BROKER)
CLUSTER = _property("CLUSTER", SetBy.RECEIVING_BROKER)
UNIQ_KEY = _property("UNIQ_KEY", SetBy.SENDER, steers=True)
POP_CK = _property("POP_CK", SetBy.POP, steers=True)
FIRST_POP_TIME = _property("1ST_POP_TIME", SetBy.BROKER)
TRANSACTION_ID = _property("__transactionId__", SetBy.BROKER, reserved=False, steers=True)
TRANSACTION_CHECK_TIMES = _property("TRANSACTION_CHECK_TIMES", SetBy.BROKER, reserved=False)
CHECK_IMMUNITY_TIME_IN_SECONDS = _property("CHECK_IMMUNITY_TIME_IN_SECONDS", SetBy.SENDER, reserved=False)
TRAN_PREPARED_QUEUE_OFFSET = _property("TRAN_PREPARED_QUEUE_OFFSET", SetBy.BROKER)
TIMER_DELAY_SEC = _property("TIMER_DELAY_SEC", SetBy.SENDER, delays=True)
TIMER_DELAY_MS = _property("TIMER_DELAY_MS", SetBy.SENDER, delays=True)
TIMER_DELIVER_MS = _property("TIMER_DELIVER_MS", SetBy.SENDER, delays=True)
TIMER_OUT_MS = _property("TIMER_OUT_MS", SetBy.BROKER, delays=True)
TIMER_ENQUEUE_MS = _property("TIMER_ENQUEUE_MS", SetBy.BROKER, delays=True)
TIMER_DEQUEUE_MS = _property("TIMER_DEQUEUE_MS", SetBy.BROKER, delays=True)
TIMER_ROLL_TIMES = _property("TIMER_ROLL_TIMES", SetBy.BROKER, delays=True)
TIMER_DEL_UNIQKEY = _property("TIMER_DEL_UNIQKEY", SetBy.BROKER, steers=True)
SHARDING_KEY = _property("__SHARDINGKEY", SetBy.SENDER, reserved=False)
INNER_NUM = _property("INNER_NUM", SetBy.BROKER, reserved=False, steers=True)
REPLY_TO_CLIENT = _property("REPLY_TO_CLIENT", SetBy.SENDER)
PUSH_REPLY_TIME = _property("PUSH_REPLY_TIME", SetBy.BROKER)
BORN_HOST = _property("__BORNHOST", SetBy.SENDER)
BORN_TIMESTAMP = _property("BORN_TIMESTAMP", SetBy.SENDER)
TRACE_CONTEXT = _property("TRACE_CONTEXT", SetBy.SENDER, reserved=False)
DLQ_ORIGIN_TOPIC = _property("DLQ_ORIGIN_TOPIC", SetBy.NOBODY)
DLQ_ORIGIN_MESSAGE_ID = _property("DLQ_ORIGIN_MESSAGE_ID", SetBy.NOBODY)
INNER_MULTI_DISPATCH = _property("INNER_MULTI_DISPATCH", SetBy.SENDER, reserved=False)
INNER_MULTI_QUEUE_OFFSET = _property("INNER_MULTI_QUEUE_OFFSET", SetBy.BROKER)
for _name in (
    "MIN_OFFSET",
    "MAX_OFFSET",
    "BUYER_ID",
    "TRANSFER_FLAG",
    "CORRECTION_FLAG",
    "MQ2_FLAG",
    "MAX_RECONSUME_TIMES",
    "CONSUME_START_TIME",
    "POP_CK_OFFSET",
    "DUP_INFO",
    "EXTEND_UNIQ_INFO",
    "INSTANCE_ID",
    "CORRELATION_ID",
    "TTL",
    "ARRIVE_TIME",
    "MSG_TYPE",
    "TIMER_DELAY_LEVEL",
    "__CRC32#",
):
    _property(_name, SetBy.NOBODY)

TABLE: Mapping[str, Property] = MappingProxyType(_declared)
"""Each known property, by its name. A name that is not in the table is a user property."""
RESERVED = frozenset(each.name for each in TABLE.values() if each.reserved)
"""Names that users of gRPC cannot set and that its consumers do not see among user properties."""
STEERING = frozenset(each.name for each in TABLE.values() if each.steers)
"""Names to remove from a received message before it is sent again as a new one."""
DELAYS = tuple(each.name for each in TABLE.values() if each.delays)
"""Names of the properties of delayed messages."""
REQUESTED_DELAYS = tuple(each.name for each in TABLE.values() if each.delays and each.set_by is SetBy.SENDER)
"""Names with which a sender requests a delay."""
SET_AT_SEND = tuple(each.name for each in TABLE.values() if each.set_by is SetBy.RECEIVING_BROKER)
"""Names that a broker sets in each message that it receives."""
REMOVED_AT_SEND = tuple(each.name for each in TABLE.values() if each.set_by is SetBy.POP)
"""Names that a broker removes from each message that it receives."""

NAME_VALUE_SEPARATOR = "\x01"
PROPERTY_SEPARATOR = "\x02"

_LARGE = 262_144
"""The longest text (characters) that `decode` splits as a whole."""
_PAIRS_MAX = 16_384
"""More pairs than a message can have: the shortest pair takes four characters with its separators, and all pairs
together may take 32,767."""
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
    """Set one property in a text that `encode` has returned. `properties` are the properties that `text` encodes."""
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
