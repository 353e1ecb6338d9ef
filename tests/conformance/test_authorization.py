"""Signed calls to a broker that requires access keys."""

import json
import socket
import threading
from contextlib import suppress
from pathlib import Path

from rocketmq_testkit.conformance.clients.grpc_signature import authorization
from rocketmq_testkit.conformance.context.grpc import GrpcContext
from rocketmq_testkit.conformance.context.remoting import RemotingContext
from rocketmq_testkit.conformance.deployment.target import Access, Tls
from rocketmq_testkit.conformance.discovery import all_cases
from rocketmq_testkit.conformance.outcomes.outcome import Verdict
from rocketmq_testkit.conformance.outcomes.recorded_outcomes import RecordedOutcomes
from rocketmq_testkit.conformance.runner.case_run import run_case
from rocketmq_testkit.conformance.targets.address import AddressDeployment, AddressTarget
from rocketmq_testkit.fixtures import Emulator
from rocketmq_testkit.remoting.client import Credentials, signature
from rocketmq_testkit.remoting.request.request_code import RequestCode
from rocketmq_testkit.remoting.wire import frame
from rocketmq_testkit.remoting.wire.command import RESPONSE, RemotingCommand


def test_the_signature_is_the_hmac_sha1_of_date_and_time() -> None:
    """The signature is the hexadecimal HMAC-SHA1 of date and time with the secret key; a token has its own header."""
    headers = authorization(Credentials("key", "secret", "token"), "20260131T000000Z")
    assert headers == {
        "x-mq-date-time": "20260131T000000Z",
        "authorization": "MQv2-HMAC-SHA1 Credential=key, SignedHeaders=x-mq-date-time, "
        "Signature=53D3D45E297A87D8074421A04BD5C3FAA6498FAE",
        "x-mq-session-token": "token",
    }


def test_every_grpc_call_of_a_target_with_credentials_is_signed() -> None:
    """Every gRPC call of a target with credentials is signed; without credentials none is."""
    with Emulator(profile="faithful") as emulator:
        for credentials in (None, Credentials("key", "secret")):
            deployment = AddressDeployment(Access(emulator.namesrv, emulator.endpoint, credentials=credentials))
            with GrpcContext(deployment, "t1") as context:
                headers = dict(context.metadata("client"))
                assert ("authorization" in headers) == (credentials is not None)
                context.sent(context.topic(kind="NORMAL"))


def test_every_remoting_request_with_credentials_is_signed() -> None:
    """Every remoting request with credentials is signed, to name server and broker alike."""
    heard: list[RemotingCommand] = []

    def listen(server: socket.socket) -> None:
        """Accept two connections and respond to their requests with success and the route to this broker."""
        for _ in range(2):
            connection, _address = server.accept()
            with connection, suppress(ConnectionError):
                splitter = frame.FrameSplitter()
                while data := connection.recv(65536):
                    for serialize_type, header, body in splitter.feed(data):
                        heard.append(frame.decode(serialize_type, header, body))
                        response = RemotingCommand(0, opaque=heard[-1].opaque, flag=RESPONSE, body=cluster)
                        connection.sendall(frame.encode(response))
                    if len(heard) == 1:
                        break  # the name server gets only one request

    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        table = {"b": {"brokerAddrs": {"0": address}}}
        cluster = json.dumps({"brokerAddrTable": table, "clusterAddrTable": {"c": ["b"]}}).encode()
        threading.Thread(target=listen, args=(server,), daemon=True).start()
        deployment = AddressDeployment(
            Access(address, "127.0.0.1:1", credentials=Credentials("key", "secret", "token"))
        )
        with RemotingContext(deployment, "t1") as context:
            context.send("topic", "a body")
    assert [each.code for each in heard] == [RequestCode.GET_BROKER_CLUSTER_INFO, RequestCode.SEND_MESSAGE_V2]
    for request in heard:
        fields = dict(request.ext_fields or {})
        assert (fields["AccessKey"], fields["SecurityToken"]) == ("key", "token")
        assert fields["Signature"] == signature("secret", fields, request.body)


def test_cases_of_both_protocols_run_over_tls(tmp_path: Path) -> None:
    """Cases of both protocols run over TLS connections that trust the given authority."""
    with Emulator(profile="faithful", tls_mode="enforcing") as emulator:
        access = Access(emulator.namesrv, emulator.endpoint, Tls(Path(emulator.ca_file)))
        with AddressTarget("own", access) as target:
            for id_ in (
                "send.a_message_is_stored",
                "grpc_route.a_route_has_every_queue_of_a_topic",
            ):
                [case] = [each for each in all_cases() if each.id == id_]
                assert run_case(case, target, RecordedOutcomes(), f"t{len(id_)}").verdict is Verdict.SAME
