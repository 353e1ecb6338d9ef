"""Corpus of the filter cases: messages with many kinds of properties, and the ones that SQL92 expressions match."""

from collections.abc import Iterable, Mapping
from typing import Any

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ..clients.json_text import dumps
from ..clients.remoting_response import DecodedResponse
from ..context.remoting import RemotingContext

PARSE_FAILED = 23
_PULLED = (0, 20)
"""Codes of a pull that found messages, and of one without a match."""

_ALONE = (
    *("1", "01", "+1", "-1", "0", "-0", "2", "10", "1.0", "1.5", ".5", "1e1", "1L", "1d", "0x1p1", "NaN", "Infinity"),
    *("2147483647", "2147483648", "-2147483648", "9223372036854775807", "9223372036854775808", " 1 "),
    *("\N{ARABIC-INDIC DIGIT THREE}", "abc", "it's", "true", "TRUE", "é", "\N{GRINNING FACE}", "100%"),
)
"""Values of property `a` in messages without other properties."""
_PAIRS = (
    *(("1", "1"), ("1", "2"), ("2", "1"), ("10", "9"), ("1", "1.0"), ("1.0", "1"), ("x", "x"), ("x", "y")),
    *(("true", "true"), ("1", "x"), ("x", "1"), ("2", "x"), ("2147483648", "2147483648")),
)
"""Values of `a` and `b` in messages with both properties."""
_B = ("x", "X", "xyz", "true", "false", "1", "2")

MESSAGES: Mapping[str, Mapping[str, str]] = {
    "none": {},
    **{f"a={a}": {"a": a} for a in _ALONE},
    **{f"a={a} b={b}": {"a": a, "b": b} for a, b in _PAIRS},
    **{f"b={b}": {"b": b} for b in _B},
}
"""Body of each message, and its user properties."""
_QUEUES = 2
_QUEUE_MAX = 32
"""The number of messages of a queue: as many as one pull returns at most (`maxTransferCountOnMessageInMemory`)."""


def check(
    t: RemotingContext, group: str, topic: str, expression: str | None, *, kind: str | None = "SQL92"
) -> DecodedResponse:
    """Make the broker check an expression."""
    data = {"topic": topic, "subString": expression, "expressionType": kind}
    body = {"clientId": "client", "group": group, "subscriptionData": data}
    return t.request(RequestCode.CHECK_CLIENT_CONFIG, None, dumps(body))


def matches(names: Iterable[str]) -> Any:
    """Return the note on the matched messages, whose bodies are `names`.

    It is `all`, or the matched bodies, or `all but` with the other bodies if these are fewer.
    """
    found = set(names)
    missing = [each for each in MESSAGES if each not in found]
    if not missing:
        return "all"
    return {"all but": missing} if len(missing) < len(found) else [each for each in MESSAGES if each in found]


def refused(remark: str | None) -> dict[str, str | None]:
    """Return the note on a rejected expression."""
    return {"refused": remark}


def note_outcomes(t: RemotingContext, *expressions: str) -> None:
    """Note the messages of `MESSAGES` that each expression matches, or the text with which it is rejected."""
    topic, group = t.topic(queues=_QUEUES), t.group()
    sends = [
        t.send(topic, name, queue=number // _QUEUE_MAX, properties=properties)
        for number, (name, properties) in enumerate(MESSAGES.items())
    ]
    t.readable(topic, *sends)
    for expression in expressions:
        checked = check(t, group, topic, expression)
        if checked.code == PARSE_FAILED:
            t.note(expression, refused(checked.remark))
            continue
        t.require(checked.code == 0, f"the broker did not accept {expression}: {checked}")
        found = [_found(t, topic, group, queue, expression=expression) for queue in range(_QUEUES)]
        t.note(expression, matches(name for names in found for name in names))


def _found(t: RemotingContext, topic: str, group: str, queue: int, *, expression: str) -> list[str]:
    response = t.pull(topic, group, queue, expression=expression, type="SQL92", max_messages=_QUEUE_MAX)
    t.require(response.code in _PULLED, f"the pull with {expression} failed: {response}")
    return [message.body.decode() for message in response.messages]
