"""The broker engine: rules, state and time of a RocketMQ cluster.

It is deterministic: no sockets, no threads, no wall clock, no randomness of its own. Standard library only.
It must not know a protocol, remoting or gRPC. Rooms lower down never import upper ones (see ARCHITECTURE.md).
"""

from .compiled_modules import install

install()
