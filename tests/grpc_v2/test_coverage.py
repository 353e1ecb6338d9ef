"""The table of RPCs has every RPC of the service declaration, and its generated page is current."""

import subprocess
import sys
from pathlib import Path

import grpc_tools
import pytest
from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto, FileDescriptorSet
from rocketmq_testkit.grpc_v2.proto import admin_pb2, definition_pb2, service_pb2
from rocketmq_testkit.grpc_v2.proxy.rpc_table import Rpc
from rocketmq_testkit.grpc_v2.rpc_page import page
from rocketmq_testkit.grpc_v2.services import RPCS
from rocketmq_testkit.grpc_v2.transport import MethodKind

SERVICE = service_pb2.DESCRIPTOR.services_by_name["MessagingService"]
ROOT = Path(__file__).parents[2]
DOCS, PROTO = ROOT / "docs", ROOT / "grpc_v2" / "proto"


@pytest.mark.pure
def test_the_rpc_page_is_current() -> None:
    """docs/rpcs.md equals the output of `python -m rocketmq_testkit.grpc_v2.rpc_page`."""
    assert (DOCS / "rpcs.md").read_text() == page()


def test_the_table_has_every_rpc_that_5_3_3_registers() -> None:
    """The table has every RPC of the service except SyncLiteSubscription, which is newer and an unknown method here."""
    assert {rpc.name for rpc in RPCS} == {method.name for method in SERVICE.methods} - {"SyncLiteSubscription"}


@pytest.mark.pure
@pytest.mark.parametrize("rpc", RPCS, ids=lambda rpc: rpc.name)
def test_an_rpc_matches_its_declaration_in_the_service(rpc: Rpc) -> None:
    """Each RPC has the messages, kind and path of its declaration, and a description."""
    declared = SERVICE.methods_by_name[rpc.name]
    assert rpc.request.DESCRIPTOR is declared.input_type
    assert rpc.response().DESCRIPTOR is declared.output_type
    kinds = {(False, False): MethodKind.UNARY, (False, True): MethodKind.SERVER_STREAM, (True, True): MethodKind.BIDI}
    assert rpc.kind is kinds[declared.client_streaming, declared.server_streaming]
    assert rpc.path == f"/apache.rocketmq.v2.MessagingService/{rpc.name}"
    assert rpc.summary.endswith(".")


def test_the_generated_classes_match_the_proto_files(tmp_path: Path) -> None:
    """The generated classes match the .proto files.

    A changed .proto file without `python grpc_v2/proto/generate.py` fails here.
    """
    package = tmp_path / "rocketmq_testkit" / "grpc_v2"
    package.mkdir(parents=True)
    (package / "proto").symlink_to(PROTO)
    generated = {pb2.DESCRIPTOR.name: pb2.DESCRIPTOR for pb2 in (admin_pb2, definition_pb2, service_pb2)}
    well_known = Path(grpc_tools.__file__).parent / "_proto"
    out = tmp_path / "descriptors"
    command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{tmp_path}", f"-I{well_known}"]
    subprocess.run([*command, f"--descriptor_set_out={out}", *generated], check=True)
    declared = FileDescriptorSet.FromString(out.read_bytes()).file
    assert len(declared) == 3
    for file in declared:
        copy = FileDescriptorProto()
        generated[file.name].CopyToProto(copy)
        for message in copy.message_type:
            _without_json_names(message)
        for message in file.message_type:
            _without_json_names(message)
        assert copy == file


def _without_json_names(message: DescriptorProto) -> None:
    for field in message.field:
        field.ClearField("json_name")
    for nested in message.nested_type:
        _without_json_names(nested)
