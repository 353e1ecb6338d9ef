"""The processors of the served request codes, one file per domain noun.

A file declares headers (fields with a default may be absent), translates requests into operations, and encodes
responses. All mappings by code derive from this, except that of `unserved.py`. It must not contain the engine's rules.
"""

from collections.abc import Mapping

from ..request.request_table import Processor, Role, join
from ..request.required_rights import Rights
from . import admin, client, group, name_server, offset, pop, pull, queries, send, timer, topic, transaction, user
from .unserved import UNSERVED

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
        queries,
        timer,
        admin,
        user,
        name_server,
    )
)
"""The processor of each request code."""

RIGHTS: Mapping[int, Rights] = {
    **{code: each.rights for code, each in UNSERVED.items()},
    **{code: each.rights for code, each in PROCESSORS.items()},
}
"""The rights that each request code requires on a broker, whether it is served or not."""

NAME_SERVER_CODES = frozenset(
    {code for code, each in UNSERVED.items() if each.role is Role.NAME_SERVER}
    | {code for code, each in PROCESSORS.items() if each.role is Role.NAME_SERVER}
)
"""Codes for a name server (DefaultRequestProcessor, ClientRequestProcessor). All other codes are for a broker."""
