"""One round of the transaction check: its position in the half topic and the op messages read so far.

Source: TransactionalMessageServiceImpl.fillOpRemoveMap, calculateOpOffset (5.3.3).
"""

from dataclasses import KW_ONLY, field

from ..kernel.value_class import value
from ..message import properties as props
from ..message.stored_record import Record
from .op_queue import REMOVE_TAG, half_offsets


@value
class CheckRound:
    """A round that began at `start_ms` at the committed half and op offsets.

    `position` is the half offset that the round has reached, `next_op` the offset of the next op message to read.
    `decided` maps the offset of a half message to the offset of the op message that names it. `open_ops` maps an op
    offset to those half offsets in it that the round has not reached. `done_ops` holds the op offsets without such half
    offsets.
    """

    start_ms: int
    first_half: int
    first_op: int
    position: int = 0
    _: KW_ONLY
    next_op: int = 0
    decided: dict[int, int] = field(default_factory=dict)
    open_ops: dict[int, set[int]] = field(default_factory=dict)
    done_ops: set[int] = field(default_factory=set)
    last_op_born_ms: int | None = None
    """Born timestamp of the last op message of the last read; None if that read found none."""
    position_corrected: bool = False
    """True once the round has moved its position because the store had deleted messages; at most once a round."""

    def __post_init__(self) -> None:
        self.position, self.next_op = self.first_half, self.first_op

    def add_op_message(self, op: Record) -> None:
        """Add the decisions of an op message; ignore half offsets before the committed one."""
        self.last_op_born_ms = op.born_timestamp
        named: set[int] = set()
        if op.property_map().get(props.TAGS) == REMOVE_TAG:
            named = {offset for offset in half_offsets(op.body) if offset >= self.first_half}
        self.decided.update(dict.fromkeys(named, op.queue_offset))
        if named:
            self.open_ops[op.queue_offset] = named
        else:
            self.done_ops.add(op.queue_offset)

    def skip_decided(self) -> None:
        """Remove the decision at the position; its op message is done if it names no half message behind it."""
        op_offset = self.decided.pop(self.position)
        named = self.open_ops.get(op_offset)
        if named is not None:
            named.discard(self.position)
            if not named:
                del self.open_ops[op_offset]
                self.done_ops.add(op_offset)

    def take_decision(self, half_offset: int) -> bool:
        """Remove the decision about a half message before the position; return True if there was one."""
        op_offset = self.decided.pop(half_offset, None)
        if op_offset is None:
            return False
        self.done_ops.add(op_offset)  # even if it names later ones (source: checkPrepareQueueOffset)
        return True

    def op_end(self) -> int:
        """Return the op offset before which all op messages are done."""
        end = self.first_op
        while end in self.done_ops:
            end += 1
        return end
