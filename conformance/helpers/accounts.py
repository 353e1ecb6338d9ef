"""Users and permissions of a case, and requests signed by them."""

from typing import Any

from rocketmq_testkit.remoting.client import Credentials, RemotingClient
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ..clients.grpc_signature import authorization
from ..clients.json_text import dumps
from ..clients.remoting_response import DecodedResponse
from ..context.case_context import CaseContext

SECRET = "secret"


def entry(resource: str, *actions: str, decision: str = "Allow", sources: tuple[str, ...] = ()) -> dict[str, object]:
    """Build a policy entry for a resource (`Topic:orders`, `Group:*`)."""
    return {"resource": resource, "actions": actions, "sourceIps": sources, "decision": decision}


def try_create_user(t: CaseContext, name: str, *, to: RemotingClient | None = None, **info: str) -> DecodedResponse:
    """Try to create a user; the broker may reject it. `info`: fields of UserInfo."""
    body = {"password": SECRET, "userType": "Normal", "userStatus": "enable", **info}
    return t.request(RequestCode.AUTH_CREATE_USER, {"username": name}, dumps(body), to=to)


def try_create_acl(
    t: CaseContext, name: str, *entries: dict[str, object], kind: str | None = "Custom"
) -> DecodedResponse:
    """Try to create an ACL for a user; the broker may reject it."""
    body = {"policies": [{"policyType": kind, "entries": entries}]}
    return t.request(RequestCode.AUTH_CREATE_ACL, {"subject": f"User:{name}"}, dumps(body))


def user(t: CaseContext, *entries: dict[str, object], **info: str) -> Credentials:
    """Create a user with the given policy entries."""
    name = t.new("user")
    made = try_create_user(t, name, to=None, **info)
    t.require(made.code == 0, f"the user {name} was not created: {made}")
    if entries:
        add_policies(t, name, *entries)
    return Credentials(name, SECRET)


def add_policies(t: CaseContext, name: str, *entries: dict[str, object], kind: str = "Custom") -> None:
    """Add policy entries to a user."""
    given = try_create_acl(t, name, *entries, kind=kind)
    t.require(given.code == 0, f"{name} was not given {entries}: {given}")


def as_user(t: CaseContext, credentials: Credentials | None) -> RemotingClient:
    """Open a connection to the broker with signed requests, or unsigned ones if `credentials` is None."""
    return t.connect(credentials=credentials)


def signed(credentials: Credentials | None) -> dict[str, Any]:
    """Return header arguments for calls of a GrpcContext: signed with `credentials`, or unsigned if None."""
    if credentials is None:
        return {"authorization": None, "x_mq_date_time": None}
    return {name.replace("-", "_"): value for name, value in authorization(credentials).items()}
