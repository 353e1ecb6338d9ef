"""What one connection may ask of the server before it is told to calm down."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on a connection; every field can be set by whoever builds the factory.

    The defaults leave room for everything that the SDKs were seen to do, so that only absurd input meets them.
    """

    # Bytes of one request message, after decompression. Upstream: grpcMaxInboundMessageSize of the proxy, 5.3.3.
    max_message_bytes: int = 130 * 1024 * 1024
    # Streams open at once on one connection, 1 to 2**31 - 1; one more is refused with REFUSED_STREAM.
    max_concurrent_streams: int = 10_000
    # Bytes the peer may send on one stream ahead of the reader; above 4 MiB so that no usual body waits for credit.
    stream_window_bytes: int = 8 * 1024 * 1024
    # The same for all streams of a connection together.
    connection_window_bytes: int = 64 * 1024 * 1024
    # Size of one header list by the count of RFC 9113 (32 bytes more than name and value for each field).
    max_header_list_bytes: int = 64 * 1024
    # CONTINUATION frames that one header block may be spread over.
    max_continuations: int = 32
    # Streams that the peer may reset, or make the server reset by breaking a rule: a burst, then a rate.
    reset_burst: int = 5_000
    resets_per_second: int = 1_000
    # Frames that carry no request (PING, SETTINGS, PRIORITY, WINDOW_UPDATE, empty DATA, frames for ended streams, ...):
    # a burst, then a rate.
    # Java and Go clients measure the bandwidth with a PING for every round trip that carries data.
    control_burst: int = 20_000
    controls_per_second: int = 20_000
    # DATA that waits for the peer's credit, in bytes, before new streams are refused with REFUSED_STREAM.
    max_unsent_bytes: int = 256 * 1024 * 1024
    # Output that the peer leaves unread before the server stops reading from it, in bytes.
    max_unread_output_bytes: int = 1024 * 1024
