"""Sign requests with access keys. Source: AclUtils, AclClientRPCHook (5.3.3)."""

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import field
from hashlib import sha1
from hmac import new as hmac

from rocketmq_testkit.emulator.kernel.value_class import frozen_value

ACCESS_KEY = "AccessKey"
SECURITY_TOKEN = "SecurityToken"
SIGNATURE = "Signature"


@frozen_value
class Credentials:
    """An access key and its secret, and a security token if the key is temporary."""

    access_key: str
    secret_key: str = field(repr=False)
    security_token: str | None = field(default=None, repr=False)


def signature(secret_key: str, ext: Mapping[str, str], body: bytes = b"") -> str:
    """Return the base64 HMAC-SHA1 of a request.

    The signed text is the values of all ext fields except Signature, sorted by field name, followed by the body.
    """
    text = "".join(value for name, value in sorted(ext.items()) if name != SIGNATURE)
    return b64encode(hmac(secret_key.encode(), text.encode() + body, sha1).digest()).decode()


def sign(credentials: Credentials, ext: Mapping[str, str], body: bytes) -> dict[str, str]:
    """Return the ext fields with access key, security token and signature added."""
    signed = dict(ext)
    signed[ACCESS_KEY] = credentials.access_key
    if credentials.security_token is not None:
        signed[SECURITY_TOKEN] = credentials.security_token
    signed[SIGNATURE] = signature(credentials.secret_key, signed, body)
    return signed
