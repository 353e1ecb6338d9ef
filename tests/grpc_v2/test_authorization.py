"""Signatures in the metadata of RPCs: parsed ones, and invalid ones with upstream's error texts."""

import pytest
from rocketmq_testkit.emulator.auth.access_control import AccessDenied, RequestSignature
from rocketmq_testkit.grpc_v2.proxy.authorization import _signed

HEAD = "MQv2-HMAC-SHA1 Credential={0}, SignedHeaders=x-mq-date-time, Signature={1}"
NOW = "20260101T000000Z"
DATE = {"x-mq-date-time": NOW}


@pytest.mark.parametrize(
    ("metadata", "signed"),
    [
        ({}, RequestSignature()),
        (DATE, RequestSignature()),
        (
            {"authorization": HEAD.format("ann/region/RocketMQ", "0aff"), **DATE},
            RequestSignature("ann", "Cv8=", NOW.encode()),
        ),
        ({"authorization": HEAD.format("ann", ""), **DATE}, RequestSignature("ann", "", NOW.encode())),
        ({"authorization": "x Signature=0aff", **DATE}, RequestSignature(None, "Cv8=", NOW.encode())),
        ({"authorization": "x Credential=ann,,", **DATE}, RequestSignature("ann", None, NOW.encode())),
    ],
)
def test_a_signature_is_read_from_the_authorization_header(metadata: dict[str, str], signed: RequestSignature) -> None:
    """The first part of the credential is the user. A call without the header is unsigned."""
    assert _signed(metadata) == signed


@pytest.mark.parametrize(
    ("metadata", "text"),
    [
        ({"authorization": HEAD.format("ann", "0aff")}, "datetime is null."),
        ({"authorization": "word", **DATE}, "authentication header is incorrect."),
        ({"authorization": "x word", **DATE}, "authentication keyValues length is incorrect, actual length=1."),
        ({"authorization": "x Credential=//", **DATE}, "credential length is incorrect, actual length=0."),
        ({"authorization": HEAD.format("ann", "no-hex"), **DATE}, "create authentication context error."),
    ],
)  # fmt: skip
def test_an_invalid_signature_is_denied_with_upstreams_text(metadata: dict[str, str], text: str) -> None:
    with pytest.raises(AccessDenied, match=text):
        _signed(metadata)
