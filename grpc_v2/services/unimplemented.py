"""RPCs that the proxy of 5.3.3 registers but does not implement."""

from ..proto import service_pb2 as sv
from ..proxy.required_rights import no_rights
from ..proxy.rpc_call import RpcCall
from ..proxy.rpc_table import Rpc
from ..rules.status import status_rejection
from ..transport import MethodKind, StatusCode


class UnimplementedRpcs:
    """Rejects calls of these RPCs."""

    def unimplemented(self, call: RpcCall, _request: object) -> None:
        """Not implemented by the proxy of 5.3.3: gRPC status UNIMPLEMENTED."""
        text = f"Method {call.rpc.path[1:]} is unimplemented"
        call.journal_refusal(status_rejection(StatusCode.UNIMPLEMENTED, text), call.message)
        call.server_call.finish(StatusCode.UNIMPLEMENTED, text)


PULL_MESSAGE = Rpc(
    "PullMessage",
    sv.PullMessageRequest,
    sv.PullMessageResponse,
    UnimplementedRpcs.unimplemented,
    operations=(),
    codes=(),
    kind=MethodKind.SERVER_STREAM,
    anonymous=True,
    rights=no_rights,
)
UPDATE_OFFSET = Rpc(
    "UpdateOffset",
    sv.UpdateOffsetRequest,
    sv.UpdateOffsetResponse,
    UnimplementedRpcs.unimplemented,
    operations=(),
    codes=(),
    anonymous=True,
    rights=no_rights,
)
GET_OFFSET = Rpc(
    "GetOffset",
    sv.GetOffsetRequest,
    sv.GetOffsetResponse,
    UnimplementedRpcs.unimplemented,
    operations=(),
    codes=(),
    anonymous=True,
    rights=no_rights,
)
QUERY_OFFSET = Rpc(
    "QueryOffset",
    sv.QueryOffsetRequest,
    sv.QueryOffsetResponse,
    UnimplementedRpcs.unimplemented,
    operations=(),
    codes=(),
    anonymous=True,
    rights=no_rights,
)
