"""Authentication and authorization of requests, before any other check.

Source: DefaultAuthenticationContextBuilder, AuthenticationPipeline, AuthorizationPipeline (5.3.3).
"""

from rocketmq_testkit.emulator.auth.access_control import AccessControl, AccessDenied, AccessRequest, RequestSignature
from rocketmq_testkit.emulator.kernel.errors import EngineError

from ..client.signing import ACCESS_KEY, SIGNATURE
from .required_rights import UNREADABLE, Fields, Rights

_LAST_WITH_UNSIGNED_FLAG = 399
"""MQVersion.Version.V4_9_3: clients up to this version do not sign the field that marks a query by unique key."""
_UNIQUE_QUERY_FLAG = "_UNIQUE_KEY_QUERY"


def check(
    access: AccessControl,
    access_request: AccessRequest,
    rights: Rights,
    *,
    ext: Fields,
    body: bytes,
    version: int,
    cluster: str,
) -> None:
    """Authenticate and authorize a request that requires `rights`. Raises AccessDenied."""
    if access.authenticates:
        access.authenticate(access_request, _signed(ext, body, version))
    if access.authorizes and ext:  # as in upstream, a request without ext fields requires no right
        try:
            required = list(rights(ext, body, cluster))
        except EngineError:
            raise AccessDenied(UNREADABLE) from None
        access.authorize(access_request, ext.get(ACCESS_KEY), required)


def _signed(ext: Fields, body: bytes, version: int) -> RequestSignature:
    """Return the access key, the signature, and the bytes that it signs."""
    if ACCESS_KEY not in ext:
        return RequestSignature()
    unsigned = {SIGNATURE, _UNIQUE_QUERY_FLAG} if version <= _LAST_WITH_UNSIGNED_FLAG else {SIGNATURE}
    text = "".join(value for name, value in sorted(ext.items()) if name not in unsigned)
    return RequestSignature(ext[ACCESS_KEY], ext.get(SIGNATURE), text.encode() + body)
