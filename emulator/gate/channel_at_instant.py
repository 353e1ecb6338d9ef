"""A client's connection and its request as of one instant, in a copy of an engine that is only read."""

from ..kernel.value_class import frozen_value
from .call import Channel
from .effects import Effect


@frozen_value
class ChannelAtInstant:
    """A connection as of that instant; `active` is True if it was open."""

    channel_id: str
    remote_address: tuple[str, int]
    active: bool

    @classmethod
    def of(cls, channel: Channel) -> "ChannelAtInstant":
        """Return the state of a connection as of now."""
        return cls(channel.channel_id, channel.remote_address, channel.active)

    def push(self, _effect: Effect) -> None:
        """Do nothing: a copy sends nothing."""


@frozen_value
class CallAtInstant:
    """A waiting request as of that instant; `active` is True if its client waited for a response."""

    channel: ChannelAtInstant
    active: bool
