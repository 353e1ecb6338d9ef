"""Apache's own broker with authentication: it serves SDKs with valid keys, and rejects others with a reason."""

import json
import subprocess
from collections.abc import Iterator

import pytest
from interrupted_run import COMMAND
from rocketmq_testkit.conformance.context.grpc import GrpcContext
from rocketmq_testkit.conformance.context.remoting import RemotingContext
from rocketmq_testkit.conformance.deployment.target import Access
from rocketmq_testkit.conformance.drivers.process import Addresses, DriverError, start
from rocketmq_testkit.conformance.targets.address import AddressDeployment
from rocketmq_testkit.conformance.targets.apache import ApacheBroker
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv
from rocketmq_testkit.remoting.client import Credentials

USER = Credentials("tester", "tester-secret")
PACKAGE = "org.apache.rocketmq"
BROKER_KEYS = {
    "authenticationEnabled": "true",
    "authenticationMetadataProvider": f"{PACKAGE}.auth.authentication.provider.LocalAuthenticationMetadataProvider",
    "initAuthenticationUser": json.dumps({"username": USER.access_key, "password": USER.secret_key}),
}
PROXY_KEYS = {
    "authenticationEnabled": True,
    "authenticationMetadataProvider": f"{PACKAGE}.proxy.auth.ProxyAuthenticationMetadataProvider",
}
"""The proxy looks users up at its broker."""
WRONG = {
    "another secret": (Credentials(USER.access_key, "another"), "check signature failed."),
    "another user": (Credentials("stranger", USER.secret_key), "User:stranger is not found."),
    "no keys": (None, "username cannot be null."),
}


@pytest.fixture(scope="module")
def real() -> Iterator[ApacheBroker]:
    with ApacheBroker("5.3.3", BROKER_KEYS, PROXY_KEYS) as broker:
        broker.wait_registered()
        yield broker


def test_sdks_with_the_right_keys_have_the_recorded_outcomes(real: ApacheBroker) -> None:
    """Scenarios of SDKs of both protocols have the recorded outcomes with the keys of the target."""
    keys = f"access_key={USER.access_key},secret_key={USER.secret_key}"
    target = f"namesrv={real.namesrv},endpoint={real.endpoint},{keys}"
    words = ["--target", target, "--sdk", "java-remoting,python", "-k", "scenarios.plain and (only_a_body or tag_keys)"]
    done = subprocess.run([COMMAND, "run", *words], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 same" in done.stdout


@pytest.mark.parametrize("wrong", WRONG)
def test_broker_and_proxy_reject_wrong_keys_with_code_and_text(real: ApacheBroker, wrong: str) -> None:
    """Broker and proxy reject a request with wrong keys by upstream's code and text."""
    keys, text = WRONG[wrong]
    deployment = AddressDeployment(Access(real.namesrv, real.endpoint, credentials=keys))
    token = wrong.replace(" ", "")
    with RemotingContext(deployment, token) as remoting, GrpcContext(deployment, token) as grpc:
        sent = remoting.send(remoting.new())
        assert (sent.code, sent.remark) == (16, text)
        status = grpc.call("QueryRoute", sv.QueryRouteRequest(topic=pb.Resource(name=grpc.new()))).status
        assert (status.code, status.message) == (pb.UNAUTHORIZED, text)


@pytest.mark.parametrize(("sdk", "code"), [("java-remoting", 16), ("python", None)])
def test_an_sdk_with_another_secret_cannot_send(real: ApacheBroker, sdk: str, code: int | None) -> None:
    """An SDK with a wrong secret raises an error on send; Python's does not contain the reason."""
    with RemotingContext(
        AddressDeployment(Access(real.namesrv, real.endpoint, credentials=USER)), sdk.partition("-")[0]
    ) as t:
        topic = t.topic(kind="NORMAL", queues=1)
        keys, _ = WRONG["another secret"]
        with start(sdk, Addresses(real.namesrv, real.endpoint, credentials=keys)) as driver:
            driver.call("producer", as_="p", topics=[topic], group="own")
            with pytest.raises(DriverError) as refused:
                driver.call("send", on="p", topic=topic, body=b"hello")
        assert refused.value.code == code
        assert t.max_offset(topic) == 0
