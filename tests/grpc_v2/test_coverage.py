"""The table of RPCs, the page made from it, and the declarations that it must agree with."""

from pathlib import Path

import pytest
from rocketmq_testkit.grpc_v2.coverage import page
from rocketmq_testkit.grpc_v2.method_table import Rpc
from rocketmq_testkit.grpc_v2.proto import service_pb2
from rocketmq_testkit.grpc_v2.services import RPCS
from rocketmq_testkit.grpc_v2.transport import MethodKind

SERVICE = service_pb2.DESCRIPTOR.services_by_name["MessagingService"]
DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_is_made_from_the_table() -> None:
    """docs/rpcs.md is what `python -m rocketmq_testkit.grpc_v2.coverage` prints."""
    assert (DOCS / "rpcs.md").read_text() == page()


def test_everything_that_5_3_3_registers_is_in_the_table() -> None:
    """SyncLiteSubscription is newer: it is answered like an unknown method."""
    assert {rpc.name for rpc in RPCS} == {method.name for method in SERVICE.methods} - {"SyncLiteSubscription"}


@pytest.mark.parametrize("rpc", RPCS, ids=lambda rpc: rpc.name)
def test_an_rpc_is_what_the_service_declares(rpc: Rpc) -> None:
    """Its messages, its kind, its true path, and a sentence about it."""
    declared = SERVICE.methods_by_name[rpc.name]
    assert rpc.request.DESCRIPTOR is declared.input_type
    assert rpc.response().DESCRIPTOR is declared.output_type
    kinds = {(False, False): MethodKind.UNARY, (False, True): MethodKind.SERVER_STREAM, (True, True): MethodKind.BIDI}
    assert rpc.kind is kinds[declared.client_streaming, declared.server_streaming]
    assert rpc.path == f"/apache.rocketmq.v2.MessagingService/{rpc.name}"
    assert rpc.about.endswith(".")
