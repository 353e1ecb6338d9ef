"""Users and their rights, which a broker keeps nowhere by itself. Source: AdminBrokerProcessor (5.3.3)."""

# ruff: noqa: ARG001  # every processor and every answer has the same arguments, whether it needs them or not

from rocketmq_testkit.emulator.operations import (
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
)

from ..bodies import tools
from ..call import RemotingCall
from ..header import Header, header, wire
from ..request_code import RequestCode
from ..table import RequestTable, Role

TABLE = RequestTable(Role.BROKER)


@header
class PutUserRequestHeader(Header):
    """Create or update a user. Errors: INVALID_PARAMETER, NO_PERMISSION, SYSTEM_ERROR."""

    username: str = ""
    signer: str = wire("AccessKey", default="")


@header
class UserRequestHeader(Header):
    """Delete or show a user. Errors: INVALID_PARAMETER, NO_PERMISSION, SYSTEM_ERROR."""

    username: str | None = None


@header
class ListUsersRequestHeader(Header):
    """Users whose names contain a text. Errors: SYSTEM_ERROR."""

    filter: str | None = None


@header
class PutAclRequestHeader(Header):
    """Give rights. Errors: NO_PERMISSION, SYSTEM_ERROR."""

    subject: str | None = None


@header
class DeleteAclRequestHeader(Header):
    """Take rights away. Errors: NO_PERMISSION, SYSTEM_ERROR."""

    subject: str | None = None
    policy_type: str | None = None
    resource: str | None = None


@header
class ListAclsRequestHeader(Header):
    """Rights by texts that subjects and resources contain. Errors: SYSTEM_ERROR."""

    subject_filter: str | None = None
    resource_filter: str | None = None


def _info(username: str, body: bytes) -> UserInfo:
    """The user of the body, which nobody reads where there is no name."""
    return tools.user_info(body) if username else UserInfo(None, None)


@TABLE.processor(RequestCode.AUTH_CREATE_USER, header=PutUserRequestHeader)
def create_user(call: RemotingCall, header: PutUserRequestHeader, body: bytes) -> CreateUser:
    """The name is in the header, the rest in the body."""
    return CreateUser(header.username, _info(header.username, body), header.signer)


@TABLE.processor(RequestCode.AUTH_UPDATE_USER, header=PutUserRequestHeader)
def update_user(call: RemotingCall, header: PutUserRequestHeader, body: bytes) -> UpdateUser:
    """As to create one."""
    return UpdateUser(header.username, _info(header.username, body), header.signer)


@TABLE.processor(RequestCode.AUTH_DELETE_USER, header=UserRequestHeader)
def delete_user(call: RemotingCall, header: UserRequestHeader, body: bytes) -> DeleteUser:
    """With its rights."""
    return DeleteUser(header.username)


@TABLE.processor(RequestCode.AUTH_GET_USER, header=UserRequestHeader)
def get_user(call: RemotingCall, header: UserRequestHeader, body: bytes) -> GetUser:
    """One user."""
    return GetUser(header.username)


@TABLE.processor(RequestCode.AUTH_LIST_USER, header=ListUsersRequestHeader)
def list_users(call: RemotingCall, header: ListUsersRequestHeader, body: bytes) -> ListUsers:
    """All users, or some."""
    return ListUsers(header.filter)


@TABLE.processor(RequestCode.AUTH_CREATE_ACL, RequestCode.AUTH_UPDATE_ACL, header=PutAclRequestHeader)
def put_acl(call: RemotingCall, header: PutAclRequestHeader, body: bytes) -> PutAcl:
    """Both the body and the header may name the subject."""
    own_subject, policies = tools.acl(body)
    return PutAcl(own_subject, header.subject, policies)


@TABLE.processor(RequestCode.AUTH_DELETE_ACL, header=DeleteAclRequestHeader)
def delete_acl(call: RemotingCall, header: DeleteAclRequestHeader, body: bytes) -> DeleteAcl:
    """All rights of a subject, or those to a resource."""
    return DeleteAcl(header.subject, header.resource)


@TABLE.processor(RequestCode.AUTH_GET_ACL, header=PutAclRequestHeader)
def get_acl(call: RemotingCall, header: PutAclRequestHeader, body: bytes) -> GetAcl:
    """Rights of a subject."""
    return GetAcl(header.subject)


@TABLE.processor(RequestCode.AUTH_LIST_ACL, header=ListAclsRequestHeader)
def list_acls(call: RemotingCall, header: ListAclsRequestHeader, body: bytes) -> ListAcls:
    """All rights, or some."""
    return ListAcls(header.subject_filter, header.resource_filter)
