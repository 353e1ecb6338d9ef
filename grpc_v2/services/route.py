"""QueryRoute and QueryAssignment: the brokers and queues of a topic for clients.

Each RPC is one operation on the name server: a public method makes it from the request, and a private one makes the
response from its result. The docstrings of the public methods describe the RPCs in `docs/rpcs.md`.
Source: RouteActivity (5.3.3).
"""

from collections.abc import Iterator
from dataclasses import dataclass

from rocketmq_testkit.emulator.config import MASTER_ID
from rocketmq_testkit.emulator.gate.call import Node
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.operations.cluster import GetRouteInfo, RouteResult
from rocketmq_testkit.emulator.topic.topic_table import PERM_READ, PERM_WRITE

from ..config.pools import ProxyPool
from ..proto import definition_pb2 as pb
from ..proto import service_pb2 as sv
from ..proxy.required_rights import to_consume, to_find_route
from ..proxy.routes import Routes, write_endpoints
from ..proxy.rpc_call import RpcCall
from ..proxy.rpc_table import CODES_OF_TOPIC_RPCS, NodeOperation, Rpc, one_operation
from ..rules.proxy_rules import check_endpoints, group_name
from ..rules.status import OK, Refusal, from_broker_error, no_route

_ANY_QUEUE = -1
"""The queue id of an assignment with which a consumer receives from any queue of the broker."""
_ACCEPTED = {
    "NORMAL": (pb.NORMAL,),
    "FIFO": (pb.FIFO,),
    "DELAY": (pb.DELAY,),
    "TRANSACTION": (pb.TRANSACTION,),
    "MIXED": (pb.NORMAL, pb.FIFO, pb.DELAY, pb.TRANSACTION),
}
"""The message types that queues of a topic accept, by the topic's message type."""


def _route_refusal(request: sv.QueryRouteRequest | sv.QueryAssignmentRequest, error: EngineError) -> Refusal:
    if error.code is ResponseCode.TOPIC_NOT_EXIST:
        return no_route(request.topic.name)
    return from_broker_error(error)


def queue_permissions(perm: int, read: int, write: int) -> Iterator[pb.Permission]:
    """Yield one permission per queue, in upstream's order: queues to read only, to write only, then for both.

    `perm` has the permission bits of the topic, `read` and `write` are its numbers of queues. A topic without read and
    write permission yields NONE for each queue, at least once.
    """
    readable, writable = bool(perm & PERM_READ), bool(perm & PERM_WRITE)
    both = min(read, write) if readable and writable else 0
    for count, permission in (
        (read - both if readable else 0, pb.READ),
        (write - both if writable else 0, pb.WRITE),
        (both, pb.READ_WRITE),
        (0 if readable or writable else max(1, read, write), pb.NONE),
    ):
        for _ in range(count):
            yield permission


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RouteService:
    """Responds to queries for routes and assignments."""

    routes: Routes
    name_server: Node

    def route_operation(self, _call: RpcCall, request: sv.QueryRouteRequest) -> NodeOperation:
        """Return the queues of a topic with their permissions, message types and broker addresses."""
        topic = self.routes.topic_name(request.topic)
        check_endpoints(request.endpoints)
        return self.name_server, GetRouteInfo(topic)

    def _route_response(
        self, call: RpcCall, request: sv.QueryRouteRequest, route: RouteResult
    ) -> sv.QueryRouteResponse:
        response = sv.QueryRouteResponse(status=OK)
        members = {member.broker_name: member for member in route.brokers}
        accepted = _ACCEPTED.get(route.message_type, (pb.MESSAGE_TYPE_UNSPECIFIED,))
        for queues in route.queues:
            member = members.get(queues.broker_name)
            if member is None:
                continue
            for broker_id in member.broker_ids:
                permissions = queue_permissions(queues.perm, queues.read_queue_nums, queues.write_queue_nums)
                for queue_id, permission in enumerate(permissions):
                    queue = response.message_queues.add(id=queue_id, permission=permission)
                    queue.topic.CopyFrom(request.topic)
                    queue.accept_message_types.extend(accepted)
                    self._fill_broker(
                        queue.broker,
                        call,
                        name=queues.broker_name,
                        broker_id=broker_id,
                        requested=request.endpoints,
                        address=member.address,
                    )
        return response

    def assignment_operation(self, _call: RpcCall, request: sv.QueryAssignmentRequest) -> NodeOperation:
        """Return a push consumer's queues: each one if its group is ordered, else one with id -1 for each broker."""
        topic = self.routes.topic_name(request.topic)
        group_name(request.group)
        check_endpoints(request.endpoints)
        return self.name_server, GetRouteInfo(topic)

    def _assignment_response(
        self, call: RpcCall, request: sv.QueryAssignmentRequest, route: RouteResult
    ) -> sv.QueryAssignmentResponse:
        response = sv.QueryAssignmentResponse(status=OK)
        group = self.routes.group_config(request.group.name)
        in_order = group is not None and group.consume_message_orderly
        masters = {member.broker_name: member.address for member in route.brokers if MASTER_ID in member.broker_ids}
        for queues in route.queues:
            if queues.broker_name not in masters or not queues.perm & PERM_READ or queues.read_queue_nums <= 0:
                continue
            permission = pb.READ_WRITE if queues.perm & PERM_WRITE else pb.READ
            for queue_id in range(queues.read_queue_nums) if in_order else (_ANY_QUEUE,):
                queue = response.assignments.add().message_queue
                queue.topic.CopyFrom(request.topic)
                queue.id = queue_id
                queue.permission = permission
                self._fill_broker(
                    queue.broker,
                    call,
                    name=queues.broker_name,
                    broker_id=MASTER_ID,
                    requested=request.endpoints,
                    address=masters[queues.broker_name],
                )
        if not response.assignments:
            raise Refusal(pb.FORBIDDEN, "no readable queue")
        return response

    def _fill_broker(
        self,
        broker: pb.Broker,
        call: RpcCall,
        *,
        name: str,
        broker_id: int,
        requested: pb.Endpoints,
        address: str | None,
    ) -> None:
        """Fill in a broker. `address` (`host:port`) is its endpoint; if None, the proxy chooses one (`Routes`)."""
        broker.name = name
        broker.id = broker_id
        if address is not None:
            host, _, port = address.rpartition(":")
            write_endpoints(broker.endpoints, host.strip("[]"), int(port))
            return
        self.routes.fill_endpoints(
            broker.endpoints, call.server_call, broker_name=name, broker_id=broker_id, requested=requested
        )


QUERY_ROUTE = Rpc(
    "QueryRoute",
    sv.QueryRouteRequest,
    sv.QueryRouteResponse,
    one_operation(RouteService.route_operation, RouteService._route_response, _route_refusal),
    operations=(GetRouteInfo,),
    codes=(*CODES_OF_TOPIC_RPCS, pb.TOPIC_NOT_FOUND, pb.INTERNAL_SERVER_ERROR),
    rights=to_find_route,
    pool=ProxyPool.ROUTE,
)
QUERY_ASSIGNMENT = Rpc(
    "QueryAssignment",
    sv.QueryAssignmentRequest,
    sv.QueryAssignmentResponse,
    one_operation(RouteService.assignment_operation, RouteService._assignment_response, _route_refusal),
    operations=(GetRouteInfo,),
    codes=(*CODES_OF_TOPIC_RPCS, pb.ILLEGAL_CONSUMER_GROUP, pb.TOPIC_NOT_FOUND, pb.FORBIDDEN, pb.INTERNAL_SERVER_ERROR),
    rights=to_consume,
    pool=ProxyPool.ROUTE,
)
