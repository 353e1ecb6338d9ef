"""Authentication and authorization of calls, before any other check. The declaration of an RPC names its rights.

Source: DefaultAuthenticationContextBuilder (5.3.3).
"""

from base64 import b64encode
from binascii import unhexlify
from collections.abc import Mapping

from google.protobuf.message import Message
from rocketmq_testkit.emulator.auth.access_control import AccessControl, AccessDenied, AccessRequest, RequestSignature
from rocketmq_testkit.emulator.kernel.java_split import java_split

from ..proto import definition_pb2 as pb
from ..rules.proxy_rules import is_blank
from ..rules.status import Refusal
from .required_rights import Rights
from .transport_call import TransportCall

_PACKAGE = "apache.rocketmq.v2."


def check(access: AccessControl, call: TransportCall, request: Message, rights: Rights) -> None:
    """Authenticate and authorize a request that requires `rights`. Raises Refusal (UNAUTHORIZED)."""
    host, port = call.peer
    access_request = AccessRequest(_PACKAGE + type(request).DESCRIPTOR.name, f"{host}:{port}", host)
    username = None
    try:
        if access.authenticates:
            signed = _signed(call.metadata)
            access.authenticate(access_request, signed)
            username = None if is_blank(signed.username or "") else signed.username
        if access.authorizes:
            access.authorize(access_request, username, list(rights(request)))
    except AccessDenied as denied:
        raise Refusal(pb.UNAUTHORIZED, denied.remark or "") from None


def _signed(metadata: Mapping[str, str]) -> RequestSignature:
    """Parse the signature in the metadata.

    Its form is `MQv2-HMAC-SHA1 Credential=ann/region/RocketMQ, SignedHeaders=x-mq-date-time, Signature=hex`.
    """
    authorization = metadata.get("authorization", "")
    if not authorization:
        return RequestSignature()
    moment = metadata.get("x-mq-date-time", "")
    if not moment:
        raise AccessDenied("datetime is null.")
    _, blank, rest = authorization.partition(" ")
    if not blank:
        raise AccessDenied("authentication header is incorrect.")
    username, signature = None, None
    for part in java_split(rest, ","):
        name, equals, value = part.strip().partition("=")
        if not equals:
            raise AccessDenied("authentication keyValues length is incorrect, actual length=1.")
        if name == "Credential":
            names = java_split(value, "/")
            if not names:
                raise AccessDenied("authentication credential length is incorrect, actual length=0.")
            username = names[0]
        elif name == "Signature":
            try:
                signature = b64encode(unhexlify(value)).decode()
            except ValueError:
                raise AccessDenied("create authentication context error.") from None
    return RequestSignature(username, signature, moment.encode())
