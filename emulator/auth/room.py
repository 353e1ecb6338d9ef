"""Builds access control for one run of a broker."""

from ..assembly.broker_context import BrokerContext
from ..assembly.handlers import handlers_of
from ..assembly.room import Room
from ..kernel.value_class import parts
from .access_control import AccessControl
from .acl_requests import AclRequests
from .user_requests import UserRequests
from .user_table import UserTable


@parts
class AuthRoom(Room):
    """Authentication and authorization of requests, and the requests about users."""

    access: AccessControl


def build(context: BrokerContext, user_table: UserTable) -> AuthRoom:
    """Build the room. Raises ConfigError if a configured user is unusable."""
    user_table.create_configured_users()
    return AuthRoom(
        access=AccessControl(context.config, context.clock, lambda: user_table),
        handlers=handlers_of(UserRequests(user_table), AclRequests(user_table)),
    )
