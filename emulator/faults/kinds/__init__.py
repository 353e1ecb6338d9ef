"""The kinds of faults, one file for each subject. Importing this package fills the table of kinds.

They must not know how a protocol layer or a host carries them out.
"""

from . import (
    bytes_on_the_wire,
    cluster,
    connections,
    deliveries,
    functions,
    requests,
    responses,
    routes,
    services,
    store,
    upstream,
)

__all__ = [
    "bytes_on_the_wire",
    "cluster",
    "connections",
    "deliveries",
    "functions",
    "requests",
    "responses",
    "routes",
    "services",
    "store",
    "upstream",
]
