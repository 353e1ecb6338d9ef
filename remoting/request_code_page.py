"""Generate the coverage page of request codes from the request table.

`python -m rocketmq_testkit.remoting.request_code_page` prints it; a test holds `docs/request-codes.md` to it.
"""

from collections.abc import Iterator

from rocketmq_testkit.emulator import deviation
from rocketmq_testkit.emulator.engine import Engine

from .deviations import DEVIATIONS
from .processors import PROCESSORS
from .request.broker_requests import PUSHED, QUESTIONS
from .request.request_code import (
    BROKER_TO_CLIENT,
    HANDLED_ELSEWHERE,
    OF_CONTROLLERS_AND_CONTAINERS,
    WITHOUT_UPSTREAM_HANDLER,
    RequestCode,
)
from .request.request_table import Processor, Role
from .wire.ext_fields import Header

INTRODUCTION = """\
# Request codes

Every request code of Apache RocketMQ 5.3.3 and what the emulator does with it. This page is made from the request
table by `python -m rocketmq_testkit.remoting.request_code_page > docs/request-codes.md`.

Fields are the request's ext fields: a plain name is a text, `:i` is a 32-bit and `:l` a 64-bit number, `:b` a truth
value; `!` marks those without which the request is answered code 1, as upstream's handler fails without them. A code
that is not emulated yet is answered code 3 with a remark that names it. Codes that upstream names but handles nowhere,
or in other programs than brokers and name servers, are answered like unknown ones: code 3.
"""

DIFFERENCES = """
## Deliberate differences

These differences from 5.3.3 have no configuration key. Limits keep one client from using up the memory of the process;
the other rows concern values that no SDK sends.

"""

_SUFFIXES = {"str": "", "Int": ":i", "Long": ":l", "bool": ":b"}


def page() -> str:
    """Return the page as Markdown."""
    served = served_codes()
    pushed = {code: effect.__name__ for effect, code in PUSHED.items()}
    rows = [_row(code, served.get(code), pushed.get(code)) for code in sorted(RequestCode)]
    upstream = len(RequestCode) - len(HANDLED_ELSEWHERE)
    counts = (
        f"{len(served)} of the {upstream} codes that upstream's brokers and name servers handle are served,"
        f" {len(pushed)} are sent to clients.\n"
    )
    head = "| code | name | who | operation | fields |\n|---|---|---|---|---|\n"
    return f"{INTRODUCTION}\n{counts}\n{head}{''.join(rows)}{DIFFERENCES}{deviation.table(DEVIATIONS)}"


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
        kind = "answered" if code in QUESTIONS else "oneway"
        return f"| {code:d} | {code.name} | to clients, {kind} | {effect} | |\n"
    if code in WITHOUT_UPSTREAM_HANDLER:
        return f"| {code:d} | {code.name} | nobody, upstream neither | | |\n"
    if code in OF_CONTROLLERS_AND_CONTAINERS:
        return f"| {code:d} | {code.name} | a controller or a container of brokers, upstream too | | |\n"
    if code in BROKER_TO_CLIENT:
        return f"| {code:d} | {code.name} | to clients, not yet | | |\n"
    return f"| {code:d} | {code.name} | not yet | | |\n"


def _fields(header: type[Header]) -> Iterator[str]:
    for each in header.FIELDS:
        yield f"{each.name}{_SUFFIXES[each.kind]}{'!' if each.required else ''}"


if __name__ == "__main__":
    print(page(), end="")
