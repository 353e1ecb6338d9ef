"""Valid and invalid header lists of requests (RFC 9113 section 8)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rocketmq_testkit.grpc_v2.transport.http2.header_decoder import ENTRY_OVERHEAD_BYTES
from rocketmq_testkit.grpc_v2.transport.http2.request_head import HeadReader, MalformedRequestError, RequestHead

from tests.grpc_v2.transport.wire import ECHO, request_fields

_LIMIT = 4_096


def _read(fields: list[tuple[str, str]]) -> RequestHead:
    return HeadReader(_LIMIT).read(fields)


def test_pseudo_header_fields_become_attributes_and_the_others_metadata() -> None:
    head = _read(request_fields(x_mq_client_id="a@b", content_length="12"))
    assert (head.method, head.scheme, head.path, head.authority) == ("POST", "http", ECHO, "emulator:8081")
    assert head.metadata["x-mq-client-id"] == "a@b"
    assert head.content_length == 12
    assert not [name for name in head.metadata if name.startswith(":")]


def test_values_of_a_repeated_header_name_are_joined_in_order() -> None:
    assert _read([*request_fields(), ("x-a", "1"), ("x-b", "2"), ("x-a", "3")]).metadata["x-a"] == "1,3"


def test_without_authority_the_host_header_is_the_authority() -> None:
    fields = [field for field in request_fields() if field[0] != ":authority"]
    assert _read([*fields, ("host", "elsewhere")]).authority == "elsewhere"
    assert _read(fields).authority == ""


@pytest.mark.parametrize("missing", [":method", ":scheme", ":path"])
def test_a_request_without_a_required_pseudo_header_field_is_malformed(missing: str) -> None:
    """Each of the three pseudo-header fields is required and must not be empty."""
    fields = [field for field in request_fields() if field[0] != missing]
    for broken in (fields, [(missing, ""), *fields]):
        with pytest.raises(MalformedRequestError, match="lacks"):
            _read(broken)


@pytest.mark.parametrize(
    "extra",
    [
        (":path", "/again"),
        (":authority", "again"),
        (":status", "200"),
        (":made-up", "x"),
        ("X-Upper", "x"),
        ("with blank", "x"),
        ("", "x"),
        ("connection", "close"),
        ("transfer-encoding", "chunked"),
        ("te", "gzip"),
        ("content-length", "-1"),
        ("content-length", "1,2"),
        ("content-length", "9" * 5_000),
        ("content-length", "²"),
        ("x-a", "new\nline"),
        ("x-a", "nul\0"),
    ],
)
def test_a_forbidden_header_field_makes_the_request_malformed(extra: tuple[str, str]) -> None:
    fields = [field for field in request_fields() if field[0] != "te"]
    with pytest.raises(MalformedRequestError):
        _read([*fields, extra])


@pytest.mark.parametrize("value", ["", "a b", "a | b", "ünï", "tab\tinside", "x-|", " ", " leading", "trailing\t"])
def test_blanks_bars_and_non_ascii_characters_in_values_are_kept(value: str) -> None:
    """Blanks, also at the ends as in upstream, bars and characters beyond ASCII are accepted and kept."""
    assert _read([*request_fields(), ("x-a", value)]).metadata["x-a"] == value


@given(st.permutations(request_fields()))
def test_a_regular_field_before_a_pseudo_header_field_is_malformed(fields: list[tuple[str, str]]) -> None:
    """A list is a request only if no regular field precedes a pseudo-header field."""
    marks = [name.startswith(":") for name, _ in fields]
    if marks == sorted(marks, reverse=True):
        assert _read(fields).path == ECHO
    else:
        with pytest.raises(MalformedRequestError, match="before"):
            _read(fields)


@given(st.lists(st.tuples(st.sampled_from(["x-a", "x-b"]), st.text("ab |", max_size=9).map(str.strip)), max_size=9))
def test_the_header_list_size_counts_names_values_and_32_bytes_per_field(extra: list[tuple[str, str]]) -> None:
    fields = request_fields() + extra
    size = sum(len(name) + len(value) + ENTRY_OVERHEAD_BYTES for name, value in fields)
    assert _read(fields).list_bytes == size


def test_metadata_of_an_oversize_header_list_is_not_kept() -> None:
    """Above the limit only the pseudo-header fields are kept, and the head has the real size of the list."""
    head = _read(request_fields() + [(f"x-{n}", "y" * 100) for n in range(40)])
    assert head.list_bytes > _LIMIT
    assert head.path == ECHO
    assert not head.metadata


def test_a_reader_with_a_full_cache_of_header_names_still_rejects_invalid_names() -> None:
    reader = HeadReader(1 << 20)
    for n in range(600):
        assert reader.read([*request_fields(), (f"x-{n}", "v")]).metadata[f"x-{n}"] == "v"
    with pytest.raises(MalformedRequestError, match="X-Bad"):
        reader.read([*request_fields(), ("X-Bad", "v")])
