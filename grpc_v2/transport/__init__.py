"""gRPC server over HTTP/2 on Twisted, with a frame loop of its own.

The import of this package loads neither Twisted nor protobuf: `protocol` is the one module that knows Twisted,
`health` and `reflection` are the ones that know protobuf.  Everything else is sans-IO and can be driven from bytes.
"""

from .grpc.call import Abort, ServerCall
from .grpc.method import GrpcMethod, MethodKind
from .grpc.status import StatusCode
from .http2.limits import Limits

__all__ = ["Abort", "GrpcMethod", "Limits", "MethodKind", "ServerCall", "StatusCode"]
