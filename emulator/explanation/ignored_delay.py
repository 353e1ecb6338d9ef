"""Delays that a broker has ignored: the message was stored in its topic at once.

Source: HookUtils.transformTimerMessage (5.3.3). It adds 64-bit numbers without a check, so a very long delay becomes an
instant in the past; later versions refuse such a message (rocketmq issue 10872).
"""

from dataclasses import replace

from ..inspection.messages import CopyState, MessageWithCopies
from ..kernel.java_numbers import parse_long
from ..message import properties as props
from ..message import stored_record as records
from .subject import Finding, Subject, fact

_LARGEST = 2**63 - 1
_UNITS = {props.TIMER_DELAY_SEC: 1_000, props.TIMER_DELAY_MS: 1}
"""Milliseconds of a unit, by the property of a delay, in the order in which a broker reads the properties."""


def ignored_delay(message: MessageWithCopies) -> str | None:
    """Return why a broker stored a message at once although it has a delay, as a clause; None if it did not."""
    if not message.copies or message.copies[0].state is not CopyState.STORED:
        return None
    copy = message.copies[0]
    found = records.property_map(copy.record)
    name = next((each for each in (*_UNITS, props.TIMER_DELIVER_MS) if each in found), None)
    if name is None or props.TIMER_OUT_MS in found:
        return None
    try:
        number = parse_long(found[name])
    except ValueError:
        return None
    if name == props.TIMER_DELIVER_MS:
        return f"{name}={number} is not after the send"
    if abs(copy.stored_at_ms + number * _UNITS[name]) > _LARGEST:
        return f"{name}={number} overflows 64 bits as an instant in milliseconds"
    return f"{name}={number} is no delay"


def with_ignored_delay(subject: Subject, finding: Finding) -> Finding:
    """Return a verdict that names the delay of the message if the broker has ignored it."""
    why = ignored_delay(subject.message)
    if why is None:
        return finding
    text = f"{finding.text}; its delay was ignored: {why}"
    return replace(finding, text=text, facts=(*finding.facts, fact("ignored_delay", why=why)))
