"""Generate the coverage page of request codes from the request table.

`python -m rocketmq_testkit.remoting.request_code_page` prints it; a test compares `docs/request-codes.md` with it.
"""

import textwrap
from collections.abc import Iterator

from rocketmq_testkit.emulator import deviation
from rocketmq_testkit.emulator.engine import Engine

from .deviations import DEVIATIONS
from .processors import PROCESSORS
from .processors.unserved import UNSERVED, UnservedReason, codes_with
from .request.broker_requests import CODE_OF_EFFECT, CODES_WITH_RESPONSE
from .request.request_code import RequestCode
from .request.request_table import Processor, Role
from .wire.ext_fields import Header

INTRODUCTION = """\
# Request codes

All request codes of Apache RocketMQ 5.3.3, and how the emulator handles them. This page is generated from the request
table by `python -m rocketmq_testkit.remoting.request_code_page > docs/request-codes.md`.

Fields are the ext fields of the request; the table does not show bodies. A plain name is a string, `:i` a 32-bit
number, `:l` a 64-bit number and `:b` a boolean. `!` marks required fields: without one, the response has code 1,
because upstream's handler fails. The field `AccessKey` names the user that has signed the request, not the one that it
changes. For a code that is *not implemented*, the response has code 3 and a remark that names the code. Codes that no
broker or name server of upstream handles are unknown codes: the response has code 3. The operation is the emulator's
name of the request, which the journal and the criteria of [faults](faults.md) use.

Codes 310, 320 and 325 have upstream's one-letter names for the fields of 10 and 324: `a` producerGroup, `b` topic, `c`
defaultTopic, `d` defaultTopicQueueNums, `e` queueId, `f` sysFlag, `g` bornTimestamp, `h` flag, `i` properties, `j`
reconsumeTimes, `k` unitMode, `l` maxReconsumeTimes and `m` batch.
"""

DIFFERENCES = """
## Deliberate differences

These differences from 5.3.3 have no configuration key. Limits protect the memory of the process. The row about members
of a consumer group concerns the number of notifications, and the row about a slave the size of its log. The other rows
concern values that no SDK sends.

"""

_SUFFIXES = {"str": "", "Int": ":i", "Long": ":l", "bool": ":b"}


def page() -> str:
    """Return the page as Markdown."""
    served = served_codes()
    pushed = {code: effect.__name__ for effect, code in CODE_OF_EFFECT.items()}
    relayed = [f"{code:d}" for code in sorted(pushed) if code in served]
    rows = [_row(code, served.get(code), pushed.get(code)) for code in sorted(RequestCode)]
    upstream = len(RequestCode) - len(
        codes_with(UnservedReason.NO_HANDLER, UnservedReason.OTHER_PROGRAM, UnservedReason.TO_CLIENTS)
    )
    counts = textwrap.fill(
        f"The emulator handles {len(served)} of the {upstream} codes that upstream's brokers and name servers handle."
        f" Brokers send {len(pushed)} codes to clients. The table marks {len(pushed) - len(relayed)} of them with"
        f" *sent to clients*. The others, {' and '.join(relayed)}, are also requests to brokers, which forward them"
        " to a client.",
        120,
    )
    head = "| code | name | handled by | operation | fields |\n|---|---|---|---|---|\n"
    return f"{INTRODUCTION}\n{counts}\n\n{head}{''.join(rows)}{DIFFERENCES}{deviation.table(DEVIATIONS)}"


def served_codes() -> dict[int, Processor]:
    """Return the processors whose operations the engine's nodes support."""
    engine = Engine()
    handlers = {Role.BROKER: engine.brokers[0].handlers, Role.NAME_SERVER: engine.name_server.handlers}
    return {code: each for code, each in PROCESSORS.items() if each.operation in handlers[each.role]}


def _row(code: RequestCode, processor: Processor | None, effect: str | None) -> str:
    if processor is not None:
        fields = ", ".join(_fields(processor.header))
        return f"| {code:d} | {code.name} | {processor.role.value} | {processor.operation.__name__} | {fields} |\n"
    if effect is not None:
        kind = "with response" if code in CODES_WITH_RESPONSE else "oneway"
        return f"| {code:d} | {code.name} | sent to clients, {kind} | {effect} | |\n"
    words = UNSERVED[code].reason.words if code in UNSERVED else "not implemented"
    return f"| {code:d} | {code.name} | {words} | | |\n"


def _fields(header: type[Header]) -> Iterator[str]:
    for each in header.FIELDS:
        yield f"{each.name}{_SUFFIXES[each.kind]}{'!' if each.required else ''}"


if __name__ == "__main__":
    print(page(), end="")
