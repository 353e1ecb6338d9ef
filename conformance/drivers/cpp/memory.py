"""Reads fields of a received message that the C++ library exports but its C interface hides: properties, whole bodies.

The memory layouts are those of the only published binary (x86-64). Its std::string is that of GCC before 5: a pointer
to the characters, with their number 24 bytes before them. std::map is libstdc++'s. The copies of the map are not freed,
about a kilobyte per message; a consumer that only counts makes none.
"""

import ctypes
from typing import Any

_MAP_BYTES = 48
_MAP_ROOT, _MAP_COUNT = 16, 40
_NODE_LEFT, _NODE_RIGHT, _NODE_KEY, _NODE_VALUE = 16, 24, 32, 40
_STRING_LENGTH = -24
_STRING_BYTES = 8


def _pointer(address: int) -> int:
    return ctypes.c_uint64.from_address(address).value


def _string(address: int) -> bytes:
    characters = _pointer(address)
    return ctypes.string_at(characters, _pointer(characters + _STRING_LENGTH))


class Memory:
    """Access through the loaded library ``dll``; raises AttributeError if it does not export the expected names."""

    def __init__(self, dll: Any) -> None:
        self._properties = dll._ZNK8rocketmq9MQMessage13getPropertiesEv
        self._properties.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
        self._properties.restype = None
        self._body = dll._ZNK8rocketmq9MQMessage7getBodyEv
        self._body.argtypes = [ctypes.c_void_p]
        self._body.restype = ctypes.c_void_p

        self._offset_id = dll._ZNK8rocketmq12MQMessageExt14getOffsetMsgIdEv
        self._offset_id.argtypes = [ctypes.c_void_p]
        self._offset_id.restype = ctypes.c_void_p
        self._hosts = (
            dll._ZNK8rocketmq12MQMessageExt17getBornHostStringEv,
            dll._ZNK8rocketmq12MQMessageExt18getStoreHostStringEv,
        )
        for host in self._hosts:
            host.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
            host.restype = None

    def offset_id(self, message: int) -> str:
        """Return the id that contains broker address and offset of the message at the address ``message``."""
        return _string(self._offset_id(message)).decode(errors="replace")

    def hosts(self, message: int) -> tuple[str, str]:
        """Return the hosts on which the message was born and is stored."""
        texts = []
        for host in self._hosts:
            room = ctypes.create_string_buffer(_STRING_BYTES)
            host(ctypes.addressof(room), message)
            texts.append(_string(ctypes.addressof(room)).decode(errors="replace"))
        return texts[0], texts[1]

    def body(self, message: int) -> bytes:
        """Return the body of the message at the address ``message``, including zero bytes."""
        return _string(self._body(message))

    def properties(self, message: int) -> dict[str, str]:
        """Return all properties of the message at the address ``message``, sorted by name."""
        room = ctypes.create_string_buffer(_MAP_BYTES)
        start = ctypes.addressof(room)
        self._properties(start, message)
        found: dict[str, str] = {}
        self._walk(_pointer(start + _MAP_ROOT), found)
        assert len(found) == _pointer(start + _MAP_COUNT), "the library's std::map has another layout"
        return found

    def _walk(self, node: int, found: dict[str, str]) -> None:
        if not node:
            return
        self._walk(_pointer(node + _NODE_LEFT), found)
        found[_string(node + _NODE_KEY).decode(errors="replace")] = _string(node + _NODE_VALUE).decode(errors="replace")
        self._walk(_pointer(node + _NODE_RIGHT), found)
