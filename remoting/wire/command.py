"""One frame's meaning: the logical header and the body, whatever header codec carried them.

Source: RemotingCommand, LanguageCode, MQVersion (5.3.3).
"""

from dataclasses import dataclass, field
from typing import Final

RESPONSE: Final = 0x1
ONEWAY: Final = 0x2

VERSION_5_3_3: Final = 479
"""The version put into every frame that leaves; clients let it decide what they dare to ask (SQL92 needs 232)."""

VERSION_STRICT_ROUTE_JSON: Final = 401
"""Requests of at least this version (4.9.4) get routes as strictly valid JSON."""

VERSION_SEND_BACK_MAX_RECONSUME: Final = 121
"""Requests of at least this version (3.4.9) may set the largest number of retries when they send back."""

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
"""Names by ordinal; the binary header carries the ordinal, the JSON header the name."""


@dataclass(slots=True)
class RemotingCommand:
    """A request or a response.

    `code` is a request code, or a response code when `flag` has the response bit. `opaque` (signed 32 bit) is chosen
    by the requester and copied by the answer. `ext_fields` is None when absent; an absent remark is None.
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
        """True for an answer."""
        return bool(self.flag & RESPONSE)

    @property
    def is_oneway(self) -> bool:
        """True for a request that must not be answered."""
        return bool(self.flag & ONEWAY)
