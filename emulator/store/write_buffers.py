"""Write buffers for messages (upstream's transient store pool), if a broker is configured to have them.

The buffers exist from the start of a run or not at all. A broker whose configuration enables them later has none, and
is busy until they are disabled. The emulator never fills buffers, so existing ones are never used up.
Source: TransientStorePool, SendMessageProcessor.rejectRequest (5.3.3).
"""

from ..config import BrokerConfig
from .refusals import busy, refuse_on_slave


class TransientStorePool:
    """The write buffers of one run of a broker."""

    def __init__(self, config: BrokerConfig) -> None:
        self._config = config
        self._count = config.transient_store_pool_size if config.transient_store_pool_enable else 0

    def refuse_to_send(self) -> None:
        """Refuse sends and send-backs on a slave, and on a master without a free buffer.

        Raises SYSTEM_BUSY.
        """
        refuse_on_slave(self._config)
        if self._config.transient_store_pool_enable and not self._count:
            raise busy()
