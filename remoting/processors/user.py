"""Users and ACL policies.

Each processor translates a request into an operation of the engine, whose class explains the fields.
Source: AdminBrokerProcessor (5.3.3).
"""

# ruff: noqa: ARG001  # all processors and response encoders share one signature

from rocketmq_testkit.emulator.auth.policies import Action
from rocketmq_testkit.emulator.operations.base import Done
from rocketmq_testkit.emulator.operations.users import (
    AclResult,
    AclsResult,
    CreateUser,
    DeleteAcl,
    DeleteUser,
    GetAcl,
    GetUser,
    ListAcls,
    ListUsers,
    PutAcl,
    UpdateUser,
    UserInfo,
    UserResult,
    UsersResult,
)

from ..bodies import users
from ..bodies.users import AclBody, UserBody
from ..request.call import RemotingCall
from ..request.request_code import RequestCode
from ..request.request_table import BodyOf, RequestTable, Role
from ..request.required_rights import on_cluster
from ..wire.ext_fields import Header, header, wire
from ..wire.response_frame import NOT_SET

TABLE = RequestTable(Role.BROKER)


@header
class PutUserRequestHeader(Header):
    """Request to create or update a user. Errors: INVALID_PARAMETER, NO_PERMISSION, SYSTEM_ERROR."""

    username: str = ""
    signer: str = wire("AccessKey", default="")


@header
class DeleteUserRequestHeader(Header):
    """Request to delete a user. Errors: NO_PERMISSION, SYSTEM_ERROR."""

    username: str | None = None
    signer: str = wire("AccessKey", default="")


@header
class GetUserRequestHeader(Header):
    """Request for one user. Errors: INVALID_PARAMETER, SYSTEM_ERROR."""

    username: str | None = None


@header
class ListUsersRequestHeader(Header):
    """Request for the users whose names contain a text. Errors: SYSTEM_ERROR."""

    filter: str | None = None


@header
class PutAclRequestHeader(Header):
    """Request to create, update or get the ACL policies of a subject. Errors: NO_PERMISSION, SYSTEM_ERROR."""

    subject: str | None = None


@header
class DeleteAclRequestHeader(Header):
    """Request to delete ACL policies of a subject. Errors: NO_PERMISSION, SYSTEM_ERROR."""

    subject: str | None = None
    policy_type: str | None = None
    resource: str | None = None


@header
class ListAclsRequestHeader(Header):
    """Request for the ACL policies whose subjects and resources contain given texts. Errors: SYSTEM_ERROR."""

    subject_filter: str | None = None
    resource_filter: str | None = None


def _done(call: RemotingCall, result: Done) -> bytes:
    return call.response(NOT_SET)


def _user(call: RemotingCall, result: UserResult) -> bytes:
    """Encode a user. The body is empty for an unknown user."""
    return call.response(NOT_SET, body=b"" if result.info is None else users.user(result.username, result.info))


def _users(call: RemotingCall, result: UsersResult) -> bytes:
    return call.response(NOT_SET, body=users.users(result.users) if result.users else b"")


def _acl(call: RemotingCall, result: AclResult) -> bytes:
    """Encode the ACL policies of a user. The body is empty if there are none."""
    return call.response(NOT_SET, body=b"" if result.policies is None else users.acl(result.username, result.policies))


def _acls(call: RemotingCall, result: AclsResult) -> bytes:
    return call.response(NOT_SET, body=users.all_acls(result.acls) if result.acls else b"")


def _info(username: str, body: bytes) -> UserInfo:
    """Read the user in the body. The body is ignored if the name is empty."""
    return UserBody.parse(body).info() if username else UserInfo(None, None)


@TABLE.processor(
    RequestCode.AUTH_CREATE_USER,
    header=PutUserRequestHeader,
    rights=on_cluster(Action.UPDATE),
    body=BodyOf(UserBody, raw=True),
    response=_done,
)
def create_user(call: RemotingCall, header: PutUserRequestHeader, body: bytes) -> CreateUser:
    """Translate a request to create a user. The name is in the header, the rest in the body."""
    return CreateUser(header.username, _info(header.username, body), header.signer)


@TABLE.processor(
    RequestCode.AUTH_UPDATE_USER,
    header=PutUserRequestHeader,
    rights=on_cluster(Action.UPDATE),
    body=BodyOf(UserBody, raw=True),
    response=_done,
)
def update_user(call: RemotingCall, header: PutUserRequestHeader, body: bytes) -> UpdateUser:
    """Translate a request to update a user. Its fields are those of a request to create one."""
    return UpdateUser(header.username, _info(header.username, body), header.signer)


@TABLE.processor(
    RequestCode.AUTH_DELETE_USER, header=DeleteUserRequestHeader, rights=on_cluster(Action.UPDATE), response=_done
)
def delete_user(call: RemotingCall, header: DeleteUserRequestHeader, body: bytes) -> DeleteUser:
    """Translate a request to delete a user with its ACL policies."""
    return DeleteUser(header.username, header.signer)


@TABLE.processor(RequestCode.AUTH_GET_USER, header=GetUserRequestHeader, rights=on_cluster(Action.GET), response=_user)
def get_user(call: RemotingCall, header: GetUserRequestHeader, body: bytes) -> GetUser:
    """Translate a request for one user."""
    return GetUser(header.username)


@TABLE.processor(
    RequestCode.AUTH_LIST_USER, header=ListUsersRequestHeader, rights=on_cluster(Action.GET), response=_users
)
def list_users(call: RemotingCall, header: ListUsersRequestHeader, body: bytes) -> ListUsers:
    """Translate a request for all users, or for those whose name contains the filter."""
    return ListUsers(header.filter)


@TABLE.processor(
    RequestCode.AUTH_CREATE_ACL,
    RequestCode.AUTH_UPDATE_ACL,
    header=PutAclRequestHeader,
    rights=on_cluster(Action.UPDATE),
    body=AclBody,
    response=_done,
)
def put_acl(call: RemotingCall, header: PutAclRequestHeader, body: AclBody) -> PutAcl:
    """Translate ACL policies. Both the body and the header may name the subject."""
    return PutAcl(body.subject, header.subject, body.infos())


@TABLE.processor(
    RequestCode.AUTH_DELETE_ACL, header=DeleteAclRequestHeader, rights=on_cluster(Action.UPDATE), response=_done
)
def delete_acl(call: RemotingCall, header: DeleteAclRequestHeader, body: bytes) -> DeleteAcl:
    """Translate a request to delete all ACL policies of a subject, or those of one resource."""
    return DeleteAcl(header.subject, header.resource, header.policy_type)


@TABLE.processor(RequestCode.AUTH_GET_ACL, header=PutAclRequestHeader, rights=on_cluster(Action.GET), response=_acl)
def get_acl(call: RemotingCall, header: PutAclRequestHeader, body: bytes) -> GetAcl:
    """Translate a request for the ACL policies of a subject."""
    return GetAcl(header.subject)


@TABLE.processor(RequestCode.AUTH_LIST_ACL, header=ListAclsRequestHeader, rights=on_cluster(Action.GET), response=_acls)
def list_acls(call: RemotingCall, header: ListAclsRequestHeader, body: bytes) -> ListAcls:
    """Translate a request for all ACL policies, or for those that match the filters."""
    return ListAcls(header.subject_filter, header.resource_filter)
