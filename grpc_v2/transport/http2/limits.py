"""The limits that a server enforces on one connection."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a connection. The code that creates a `GrpcServerFactory` can set every field.

    The defaults exceed everything that the SDKs were seen to do, so that only absurd input reaches them.
    """

    # Size of one request message after decompression, in bytes. Upstream: grpcMaxInboundMessageSize of the proxy,
    # 5.3.3.
    max_message_bytes: int = 130 * 1024 * 1024
    # Open streams on one connection, 1 to 2**31 - 1. Further streams are refused with REFUSED_STREAM.
    max_concurrent_streams: int = 10_000
    # Bytes that the peer may send on one stream ahead of the reader. Above 4 MiB, so that no usual body waits for
    # credit.
    stream_window_bytes: int = 8 * 1024 * 1024
    # The same for all streams of a connection together.
    connection_window_bytes: int = 64 * 1024 * 1024
    _: KW_ONLY
    # Size of one header list as counted by RFC 9113 (name and value plus 32 bytes per field).
    max_header_list_bytes: int = 64 * 1024
    # Maximum number of CONTINUATION frames of one header block.
    max_continuations: int = 32
    # Streams that the peer may reset, or make the server reset by breaking a rule: a burst, then a rate.
    reset_burst: int = 5_000
    resets_per_second: int = 1_000
    # Frames without a request (PING, SETTINGS, PRIORITY, WINDOW_UPDATE, empty DATA, frames for ended streams, ...): a
    # burst, then a rate. Java and Go clients measure the bandwidth with a PING for every round trip with data.
    control_burst: int = 20_000
    controls_per_second: int = 20_000
    # DATA that waits for the peer's credit, in bytes. Above it, new streams are refused with REFUSED_STREAM.
    max_unsent_bytes: int = 256 * 1024 * 1024
    # Output that the peer leaves unread, in bytes. Above it, the server stops reading from the peer.
    max_unread_output_bytes: int = 1024 * 1024
