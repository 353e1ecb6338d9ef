"""Buffers that messages are written through before they are in a file, where a broker is told to have them.

They are there from the start of a run or not at all: a broker that is told later to write through buffers has none, and
is busy until it is told otherwise. Here nothing is ever in them, so none that is there is used up.
Source: TransientStorePool, SendMessageProcessor.rejectRequest (5.3.3).
"""

from ..config import BrokerConfig
from .refusals import busy, refuse_on_slave


class StoreBuffers:
    """The buffers of one run of a broker."""

    def __init__(self, config: BrokerConfig) -> None:
        self._config = config
        self._count = config.transient_store_pool_size if config.transient_store_pool_enable else 0

    def refuse_to_send(self) -> None:
        """Nothing is sent, and nothing sent back, to a slave, or to a master that has no buffer left.

        Errors: SYSTEM_BUSY.
        """
        refuse_on_slave(self._config)
        if self._config.transient_store_pool_enable and not self._count:
            raise busy()
