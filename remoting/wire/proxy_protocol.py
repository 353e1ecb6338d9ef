"""The PROXY protocol prologue (versions 1 and 2) that a load balancer may send before the first frame.

The server detects a prologue by its first bytes, as soon as twelve bytes have arrived. Lists of connections then show
the address in the prologue; the born host of messages remains the TCP peer. A malformed prologue closes the connection.
Extensions of version 2 (type-length-values) are skipped.
Source: HandshakeHandler, HAProxyMessageDecoder (5.3.3), tried on 5.3.3.
"""

from ipaddress import ip_address
from struct import Struct

from .errors import ProtocolError

V1_PREFIX = b"PROXY "
V2_PREFIX = b"\r\n\r\n\x00\r\nQUIT\n"
V1_MAX_BYTES = 108
DETECTION_BYTES = 12

_V2_LENGTH = Struct(">H")
_V2_ADDRESS_BYTES = {1: 4, 2: 16}  # by address family; other families have no address


class ProxyPrologue:
    """Detects and reads the prologue at the beginning of a connection.

    `source` is the (address, port) in the prologue, None if there is none.
    """

    def __init__(self) -> None:
        self.source: tuple[str, int] | None = None
        self._data = bytearray()

    def feed(self, data: bytes) -> bytes | None:
        """Return the bytes after the prologue (all bytes if there is no prologue), or None if more bytes are needed."""
        self._data += data
        if len(self._data) < DETECTION_BYTES:
            return None
        if self._data.startswith(V1_PREFIX):
            return self._version_1(self._data)
        if self._data.startswith(V2_PREFIX):
            return self._version_2(self._data)
        return bytes(self._data)

    def _version_1(self, data: bytearray) -> bytes | None:
        end = data.find(b"\r\n", 0, V1_MAX_BYTES)
        if end < 0:
            if len(data) >= V1_MAX_BYTES:
                raise ProtocolError("PROXY line without an end")
            return None
        words = data[:end].decode("ascii", "replace").split(" ")
        if words[1] != "UNKNOWN":
            if words[1] not in ("TCP4", "TCP6") or len(words) != 6:
                raise ProtocolError(f"PROXY line {bytes(data[:end])!r}")
            self.source = _endpoint(words[2], words[4])
        return bytes(data[end + 2 :])

    def _version_2(self, data: bytearray) -> bytes | None:
        if len(data) < 16:
            return None
        version, command = data[12] >> 4, data[12] & 0xF
        if version != 2 or command > 1:
            raise ProtocolError(f"PROXY prologue of version {version}, command {command}")
        end = 16 + _V2_LENGTH.unpack_from(data, 14)[0]
        if len(data) < end:
            return None
        size = _V2_ADDRESS_BYTES.get(data[13] >> 4)
        if command == 1 and size is not None:
            if end < 16 + 2 * size + 4:
                raise ProtocolError("PROXY prologue shorter than its addresses")
            port = _V2_LENGTH.unpack_from(data, 16 + 2 * size)[0]
            self.source = str(ip_address(bytes(data[16 : 16 + size]))), port
        return bytes(data[end:])


def _endpoint(address: str, port: str) -> tuple[str, int]:
    try:
        return str(ip_address(address)), int(port)
    except ValueError:
        raise ProtocolError(f"PROXY line without a valid source: address {address}, port {port}") from None
