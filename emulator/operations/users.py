"""Users and their rights, as administrators ask for them. Source: AdminBrokerProcessor (5.3.3)."""

from ..value import value
from .base import Operation


@value
class UserInfo:
    """A user as a request describes it; None is what it leaves out."""

    password: str | None
    user_type: str | None


@value
class CreateUser(Operation):
    """Keep a new user. `signer`: who has signed the request."""

    username: str
    info: UserInfo
    signer: str = ""


@value
class UpdateUser(Operation):
    """Change what is kept of a user. `signer`: who has signed the request."""

    username: str
    info: UserInfo
    signer: str = ""


@value
class DeleteUser(Operation):
    """Forget a user and its rights."""

    username: str | None


@value
class GetUser(Operation):
    """Show a user."""

    username: str | None


@value
class ListUsers(Operation):
    """Show users whose names contain a text."""

    filter: str | None


@value
class PolicyEntry:
    """What may be done with a resource, from which addresses; None is what is left out."""

    resource: str | None
    actions: list[str]
    source_ips: list[str]
    decision: str | None


@value
class PutAcl(Operation):
    """Give rights to a subject (`User:name`): that of the rights themselves, or else that of the request.

    Each policy is a list of entries; one without any is left out.
    """

    own_subject: str | None
    subject: str | None
    policies: list[list[PolicyEntry]]


@value
class DeleteAcl(Operation):
    """Take the rights of a subject away, all or those to a resource."""

    subject: str | None
    resource: str | None = None


@value
class GetAcl(Operation):
    """Show the rights of a subject."""

    subject: str | None


@value
class ListAcls(Operation):
    """Show rights by texts that subjects and resources contain."""

    subject_filter: str | None
    resource_filter: str | None
