"""A frame as an object: the logical header and the body, independent of the header codec.

Source: RemotingCommand, LanguageCode, MQVersion (5.3.3).
"""

from dataclasses import field
from typing import Final

from rocketmq_testkit.emulator.kernel.upstream_version import VERSION_NUMBER
from rocketmq_testkit.emulator.kernel.value_class import value

RESPONSE: Final = 0x1
ONEWAY: Final = 0x2

VERSION_5_3_3: Final = VERSION_NUMBER
"""The version in every sent frame. Clients choose features by it (SQL92 requires 232)."""

VERSION_STRICT_ROUTE_JSON: Final = 401
"""Requests of at least this version (4.9.4) get routes as strictly valid JSON."""

VERSION_MAX_RECONSUME_TIMES: Final = 121
"""Requests of at least this version (3.4.9) may set the maximum number of retries, in a send and in a send-back."""

LANGUAGES: Final = (
    "JAVA",
    "CPP",
    "DOTNET",
    "PYTHON",
    "DELPHI",
    "ERLANG",
    "RUBY",
    "OTHER",
    "HTTP",
    "GO",
    "PHP",
    "OMS",
    "RUST",
    "NODE_JS",
)
"""Language names by ordinal. The binary header has the ordinal, the JSON header the name."""


@value
class RemotingCommand:
    """A request or a response.

    `code` is a request code, or a response code if `flag` has the response bit. The requester chooses `opaque` (signed
    32 bit) and the response copies it. Absent `ext_fields` and `remark` are None.
    """

    code: int
    language: str = "JAVA"
    version: int = VERSION_5_3_3
    opaque: int = 0
    flag: int = 0
    remark: str | None = None
    ext_fields: dict[str, str] | None = None
    body: bytes = b""
    serialize_type: int = field(default=0, compare=False)

    @property
    def is_response(self) -> bool:
        """True for a response."""
        return bool(self.flag & RESPONSE)

    @property
    def is_oneway(self) -> bool:
        """True for a request that must not get a response."""
        return bool(self.flag & ONEWAY)
