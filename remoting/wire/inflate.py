"""Decompress message bodies up to a limit, because a few kilobytes can expand to gigabytes.

Source: CompressionType, ZlibCompressor (5.3.3), which have no limit. Clients do not compress bodies of more than 4 MiB.
"""

import zlib

INFLATED_BYTES_MAX = 64 * 1024 * 1024
"""Maximum size of a body after decompression, in bytes."""


class TooLargeError(ValueError):
    """A body is larger than INFLATED_BYTES_MAX after decompression."""

    def __init__(self) -> None:
        super().__init__(f"a compressed body of more than {INFLATED_BYTES_MAX} bytes")


def inflate(body: bytes, *, or_gzip: bool = False) -> bytes:
    """Decompress a zlib body, or with `or_gzip` also a gzip body.

    Raises TooLargeError, and ValueError for invalid data.
    """
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 32 if or_gzip else zlib.MAX_WBITS)
    try:
        plain = unpacker.decompress(body, INFLATED_BYTES_MAX)
        if not unpacker.eof:
            if unpacker.decompress(unpacker.unconsumed_tail, 1):
                raise TooLargeError
            if not unpacker.eof:
                raise ValueError("a compressed body that ends too early")
    except zlib.error as error:
        raise ValueError(f"a body that cannot be decompressed: {error}") from None
    return plain
