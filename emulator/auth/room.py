"""Builds access control for one run of a broker."""

from dataclasses import dataclass

from ..assembly.broker_context import BrokerContext
from ..assembly.handlers import handlers_of
from ..assembly.room import Room
from .acl_requests import UserRights
from .authentication import Access
from .user_requests import Users
from .user_table import Accounts


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthRoom(Room):
    """Authentication and authorization of requests, and the requests about users."""

    access: Access


def build(context: BrokerContext, accounts: Accounts) -> AuthRoom:
    """Build the room. Raises ConfigError if a configured user is unusable."""
    accounts.start()
    return AuthRoom(
        access=Access(context.config, context.clock, lambda: accounts),
        handlers=handlers_of(Users(accounts), UserRights(accounts)),
    )
