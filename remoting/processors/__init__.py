"""The processors of the served request codes, one file per domain noun.

A file declares the headers of its codes, translates each request into an operation of the engine, and encodes the
responses. It must not contain rules about what happens to a message: those belong to the engine.
"""

from collections.abc import Mapping

from ..request.request_table import Processor, join
from . import client, group, name_server, offset, pop, pull, send, timer, tools, topic, transaction, user, view

PROCESSORS: Mapping[int, Processor] = join(
    module.TABLE
    for module in (
        send,
        transaction,
        pull,
        pop,
        offset,
        client,
        topic,
        group,
        view,
        timer,
        tools,
        user,
        name_server,
    )
)
"""The processor of each request code."""
