"""Admin requests for users and ACL policies. Source: AdminBrokerProcessor (5.3.3)."""

from dataclasses import field, replace

from ..kernel.masking import MASK
from ..kernel.value_class import value
from .base import Operation, Result


@value
class UserInfo:
    """A user as described by a request; None for fields that the request omits."""

    password: str | None = field(repr=False)
    user_type: str | None
    user_status: str | None = None

    def masked(self) -> "UserInfo":
        """A copy without the password."""
        return replace(self, password=None if self.password is None else MASK)


@value
class CreateUser(Operation):
    """Create a user. `signer`: the user that signed the request, empty if it is unsigned."""

    username: str
    info: UserInfo
    signer: str = ""

    def journaled(self) -> Operation:
        """Return a copy whose password is masked."""
        return replace(self, info=self.info.masked())


@value
class UpdateUser(Operation):
    """Change a user. `signer`: the user that signed the request, empty if it is unsigned."""

    username: str
    info: UserInfo
    signer: str = ""

    def journaled(self) -> Operation:
        """Return a copy whose password is masked."""
        return replace(self, info=self.info.masked())


@value
class DeleteUser(Operation):
    """Delete a user and its policies. `signer`: the user that signed the request, empty if it is unsigned."""

    username: str | None
    signer: str = ""


@value
class GetUser(Operation):
    """Return a user."""

    username: str | None


@value
class UserResult(Result):
    """A user's name and data; None if the user does not exist."""

    username: str
    info: UserInfo | None

    def journaled(self) -> Result:
        """Return a copy whose password is masked."""
        return replace(self, info=None if self.info is None else self.info.masked())


@value
class ListUsers(Operation):
    """List users whose names contain a text."""

    filter: str | None


@value
class UsersResult(Result):
    """Users, sorted by name."""

    users: dict[str, UserInfo]

    def journaled(self) -> Result:
        """Return a copy whose passwords are masked."""
        return replace(self, users={name: info.masked() for name, info in self.users.items()})


@value
class PolicyEntryInfo:
    """A policy entry: a resource, actions, source addresses and a decision; None for omitted fields."""

    resource: str | None
    actions: list[str]
    source_ips: list[str]
    decision: str | None


@value
class PolicyInfo:
    """Policy entries of one type (`Custom`, `Default`; None: omitted)."""

    policy_type: str | None
    entries: list[PolicyEntryInfo]


@value
class PutAcl(Operation):
    """Grant policies to a subject, such as `User:ann`. A policy without entries is ignored.

    `own_subject` is the subject in the body, `subject` that in the header, which counts if the body names no user.
    """

    own_subject: str | None
    subject: str | None
    policies: list[PolicyInfo]


@value
class DeleteAcl(Operation):
    """Delete policies of a subject: all, or those of a type and resource."""

    subject: str | None
    resource: str | None = None
    policy_type: str | None = None


@value
class GetAcl(Operation):
    """Return the policies of a subject."""

    subject: str | None


@value
class AclResult(Result):
    """The policies of a user; None if it has none."""

    username: str
    policies: list[PolicyInfo] | None


@value
class ListAcls(Operation):
    """List policies whose subject and resource contain the given texts."""

    subject_filter: str | None
    resource_filter: str | None


@value
class AclsResult(Result):
    """Policies by user, sorted by name."""

    acls: dict[str, list[PolicyInfo]]
