"""Users and their rights, as administrators ask for them. Source: AdminBrokerProcessor (5.3.3)."""

from dataclasses import field, replace

from ..kernel.masking import MASK
from ..kernel.value_class import value
from .base import Operation, Result


@value
class UserInfo:
    """A user as a request describes it; None is what it leaves out."""

    password: str | None = field(repr=False)
    user_type: str | None
    user_status: str | None = None

    def masked(self) -> "UserInfo":
        """A copy without the password."""
        return replace(self, password=None if self.password is None else MASK)


@value
class CreateUser(Operation):
    """Keep a new user. `signer`: who has signed the request."""

    username: str
    info: UserInfo
    signer: str = ""

    def journaled(self) -> Operation:
        """Without the password."""
        return replace(self, info=self.info.masked())


@value
class UpdateUser(Operation):
    """Change what is kept of a user. `signer`: who has signed the request."""

    username: str
    info: UserInfo
    signer: str = ""

    def journaled(self) -> Operation:
        """Without the password."""
        return replace(self, info=self.info.masked())


@value
class DeleteUser(Operation):
    """Forget a user and its rights. `signer`: who has signed the request."""

    username: str | None
    signer: str = ""


@value
class GetUser(Operation):
    """Show a user."""

    username: str | None


@value
class UserResult(Result):
    """A user's name and what is kept of it; None for an unknown one."""

    username: str
    info: UserInfo | None

    def journaled(self) -> Result:
        """Without the password."""
        return replace(self, info=None if self.info is None else self.info.masked())


@value
class ListUsers(Operation):
    """Show users whose names contain a text."""

    filter: str | None


@value
class UsersResult(Result):
    """Users by their names, which are in order."""

    users: dict[str, UserInfo]

    def journaled(self) -> Result:
        """Without the passwords."""
        return replace(self, users={name: info.masked() for name, info in self.users.items()})


@value
class PolicyEntry:
    """What may be done with a resource, from which addresses; None is what is left out."""

    resource: str | None
    actions: list[str]
    source_ips: list[str]
    decision: str | None


@value
class PolicyInfo:
    """Entries of a kind (`Custom`, `Default`), which None leaves out."""

    policy_type: str | None
    entries: list[PolicyEntry]


@value
class PutAcl(Operation):
    """Give rights to a subject (`User:name`): that of the rights themselves, or else that of the request.

    A policy without entries is left out.
    """

    own_subject: str | None
    subject: str | None
    policies: list[PolicyInfo]


@value
class DeleteAcl(Operation):
    """Take the rights of a subject away, all or those of a kind to a resource."""

    subject: str | None
    resource: str | None = None
    policy_type: str | None = None


@value
class GetAcl(Operation):
    """Show the rights of a subject."""

    subject: str | None


@value
class AclResult(Result):
    """The rights of a user, None where it has none."""

    username: str
    policies: list[PolicyInfo] | None


@value
class ListAcls(Operation):
    """Show rights by texts that subjects and resources contain."""

    subject_filter: str | None
    resource_filter: str | None


@value
class AclsResult(Result):
    """Rights by users, whose names are in order."""

    acls: dict[str, list[PolicyInfo]]
