"""The remoting protocol of brokers and name servers: frames, bodies, processors, a server and a client.

It translates requests into operations of the engine and must not contain rules about messages. It imports only
`emulator`; it must not know `grpc_v2`, `fixtures` or the layers above them (see ARCHITECTURE.md).
"""

import rocketmq_testkit.emulator  # noqa: F401 - before a module of this package, which may be a compiled one
