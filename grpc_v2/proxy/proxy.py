"""The entry of all calls: finds the client's session, checks its access, and starts the RPC."""

from collections.abc import Callable

from google.protobuf.message import Message
from rocketmq_testkit.emulator.auth.access_control import AccessControl

from ..proto import definition_pb2 as pb
from ..rules.proxy_rules import is_blank
from ..rules.status import Refusal
from .authorization import check as check_access
from .request_pools import ProxyRequestPools
from .rpc_call import RpcCall, ServedRpc
from .sessions import SessionChannel, SessionRegistry
from .transport_call import TransportCall

CLIENT_ID = "x-mq-client-id"
NO_CLIENT_ID = "client id cannot be empty"


class Proxy:
    """Serves calls. `tick` advances the engine's time to now; it runs before each call."""

    def __init__(
        self, *, sessions: SessionRegistry, access: AccessControl, pools: ProxyRequestPools, tick: Callable[[], None]
    ) -> None:
        self._sessions = sessions
        self._access = access
        self._pools = pools
        self._tick = tick

    def serve(self, rpc: ServedRpc, server_call: TransportCall, request: object) -> None:
        """Start a call, or refuse it: UNAUTHORIZED, or CLIENT_ID_REQUIRED for an absent or blank client id."""
        self._tick()
        client_id = server_call.metadata.get(CLIENT_ID, "")
        session = self._sessions.find(client_id)
        channel = SessionChannel(client_id, server_call.peer, None) if session is None else session.channel
        message = request if isinstance(request, Message) else None
        call = RpcCall(rpc, server_call, client_id, session, channel, message)
        if self._access.is_active and message is not None:  # messages of a request stream are checked when they arrive
            try:
                check_access(self._access, server_call, message, rpc.rights)
            except Refusal as refusal:
                call.reject(refusal)
                return
        if session is None and is_blank(client_id) and not rpc.anonymous:
            call.reject(Refusal(pb.CLIENT_ID_REQUIRED, NO_CLIENT_ID))
            return
        if self._pools.is_active:
            self._pools.enter(call, request)
        else:
            call.start(request)
