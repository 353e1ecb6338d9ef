"""A gRPC server over HTTP/2 on Twisted, with its own frame loop.

Importing this package loads neither Twisted nor protobuf. `twisted_server` is the only module that knows Twisted;
`grpc.health`, `grpc.reflection` and `grpc.descriptors` are the only ones that know protobuf. All other modules are
sans-IO: tests feed them bytes. It must not know RocketMQ.
"""

from .grpc.call import Abort, ServerCall
from .grpc.method import GrpcMethod, MethodKind
from .grpc.status import StatusCode
from .http2.limits import Limits

__all__ = ["Abort", "GrpcMethod", "Limits", "MethodKind", "ServerCall", "StatusCode"]
