"""Authentication and authorization of requests, before any other check.

Source: DefaultAuthenticationContextBuilder, AuthenticationPipeline, AuthorizationPipeline (5.3.3).
"""

from rocketmq_testkit.emulator.auth.authentication import Access, AccessDenied, Asking, Signed
from rocketmq_testkit.emulator.kernel.errors import EngineError

from ..client.signing import ACCESS_KEY, SIGNATURE
from .required_rights import UNREADABLE, Fields, needs

_LAST_WITH_UNSIGNED_FLAG = 399
"""MQVersion.Version.V4_9_3: clients up to this version do not sign the field that marks a query by unique key."""
_UNIQUE_QUERY_FLAG = "_UNIQUE_KEY_QUERY"


def check(access: Access, asking: Asking, ext: Fields, body: bytes, version: int, cluster: str) -> None:
    """Authenticate and authorize a request. Raises AccessDenied."""
    if access.authenticates:
        access.authenticate(asking, _signed(ext, body, version))
    if access.authorizes and ext:
        try:
            wanted = list(needs(int(asking.request), ext, body, cluster))
        except EngineError:
            raise AccessDenied(UNREADABLE) from None
        access.authorize(asking, ext.get(ACCESS_KEY), wanted)


def _signed(ext: Fields, body: bytes, version: int) -> Signed:
    if ACCESS_KEY not in ext:
        return Signed()
    left_out = {SIGNATURE, _UNIQUE_QUERY_FLAG} if version <= _LAST_WITH_UNSIGNED_FLAG else {SIGNATURE}
    text = "".join(value for name, value in sorted(ext.items()) if name not in left_out)
    return Signed(ext[ACCESS_KEY], ext.get(SIGNATURE), text.encode() + body)
