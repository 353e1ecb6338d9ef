"""Text forms of gRPC header values."""

from __future__ import annotations

from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rocketmq_testkit.grpc_v2.transport.grpc.metadata import (
    decode_binary,
    encode_metadata,
    parse_timeout,
    percent_encode,
)
from rocketmq_testkit.grpc_v2.transport.grpc.status import StatusCode, StatusError


@pytest.mark.parametrize(
    ("text", "ms"),
    [("1H", 3_600_000), ("2M", 120_000), ("3S", 3_000), ("250m", 250), ("1500u", 1.5), ("99999999n", 99.999999)],
)
def test_grpc_timeouts_are_read_in_each_unit(text: str, ms: float) -> None:
    """Each unit has the value that the protocol defines."""
    assert parse_timeout(text) == pytest.approx(ms)


@pytest.mark.parametrize("text", ["", "1", "S", "1s", "-1S", "1.5S", "123456789S", "1S ", "١S"])
def test_a_malformed_timeout_is_rejected_with_internal(text: str) -> None:
    with pytest.raises(StatusError, match="malformed grpc-timeout") as caught:
        parse_timeout(text)
    assert caught.value.status is StatusCode.INTERNAL


@given(st.text(max_size=60))
def test_a_percent_encoded_status_text_is_decoded_equal(text: str) -> None:
    """A percent-encoded text is printable ASCII, and decoding returns the text."""
    coded = percent_encode(text)
    assert coded.isascii()
    assert coded.isprintable()
    assert unquote(coded, errors="strict") == text.encode("utf-8", "replace").decode("utf-8")


def test_a_plain_status_text_is_sent_unchanged() -> None:
    """A text without special characters is sent unchanged. A percent sign is escaped."""
    assert percent_encode("Method not found: a.B/C") == "Method not found: a.B/C"
    assert percent_encode("100%") == "100%25"


@given(st.lists(st.binary(max_size=20), min_size=1, max_size=4), st.booleans())
def test_binary_values_are_read_with_and_without_padding(values: list[bytes], padded: bool) -> None:
    """Binary values are read with and without padding, one or several in a field."""
    texts = [encode_metadata({"x-bin": value})[0][1] for value in values]
    assert not any(text.endswith("=") for text in texts)
    if padded:
        texts = [text + "=" * (-len(text) % 4) for text in texts]
    assert decode_binary(",".join(texts)) == values


def test_a_binary_value_that_is_not_base64_raises_value_error() -> None:
    with pytest.raises(ValueError, match="not Base64"):
        decode_binary("a?")


@pytest.mark.parametrize("name", ["grpc-status", "Upper", ":path", "with blank", ""])
def test_a_reserved_or_malformed_metadata_name_is_rejected(name: str) -> None:
    with pytest.raises(ValueError, match="not allowed"):
        encode_metadata({name: "v"})


def test_metadata_values_of_the_wrong_kind_are_rejected() -> None:
    """Text under a binary name, bytes under a text name, and text that is not printable ASCII are rejected."""
    with pytest.raises(TypeError, match="takes bytes"):
        encode_metadata({"x-bin": "text"})
    with pytest.raises(TypeError, match="takes text"):
        encode_metadata({"x": b"bytes"})
    with pytest.raises(ValueError, match="not printable"):
        encode_metadata({"x": "a\nb"})
