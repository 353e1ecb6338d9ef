"""The gRPC proxy: configuration, conversion, rules, services, and a gRPC transport over HTTP/2.

It translates RPCs into operations of the engine and contains the rules of upstream's proxy. It imports `emulator` only,
not `remoting`; it must not know `fixtures` or the layers above it (see ARCHITECTURE.md).
"""

import rocketmq_testkit.emulator  # noqa: F401 - before a module of this package, which may be a compiled one
