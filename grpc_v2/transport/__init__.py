"""A gRPC server over HTTP/2 on Twisted, with its own frame loop.

Only `twisted_server` knows Twisted; only `grpc.health`, `grpc.reflection` and `grpc.descriptors` know protobuf.
Importing this package loads neither. All other modules are sans-IO. It must not know RocketMQ.
"""

from .grpc.call import Abort, ServerCall
from .grpc.method import GrpcMethod, MethodKind
from .grpc.status import StatusCode
from .http2.limits import Limits

__all__ = ["Abort", "GrpcMethod", "Limits", "MethodKind", "ServerCall", "StatusCode"]
