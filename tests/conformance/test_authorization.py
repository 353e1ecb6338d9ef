"""Signed calls to a broker that asks for access keys."""

from rocketmq_testkit.conformance.targets.address import AddressPlace
from rocketmq_testkit.conformance.targets.target import Access
from rocketmq_testkit.conformance.worlds.authorization import authorization
from rocketmq_testkit.conformance.worlds.grpc import Grpc
from rocketmq_testkit.fixtures import Emulator
from rocketmq_testkit.remoting.client import Credentials


def test_the_signature_is_over_date_and_time() -> None:
    """HMAC-SHA1 with the secret key, in hexadecimal; a token goes beside it."""
    headers = authorization(Credentials("key", "secret", "token"), "20260131T000000Z")
    assert headers == {
        "x-mq-date-time": "20260131T000000Z",
        "authorization": "MQv2-HMAC-SHA1 Credential=key, SignedHeaders=x-mq-date-time, "
        "Signature=53D3D45E297A87D8074421A04BD5C3FAA6498FAE",
        "x-mq-session-token": "token",
    }


def test_every_call_of_a_world_is_signed() -> None:
    """A place with credentials gets them with each call; one without gets none."""
    with Emulator(profile="faithful") as emulator:
        for credentials in (None, Credentials("key", "secret")):
            place = AddressPlace(Access(emulator.namesrv, emulator.endpoint, credentials=credentials))
            with Grpc(place, "t1") as world:
                headers = dict(world.metadata("client"))
                assert ("authorization" in headers) == (credentials is not None)
                world.sent(world.topic(kind="NORMAL"))
