"""One round of the transaction check: how far it is in the half topic, and what the op messages read so far decide.

Source: TransactionalMessageServiceImpl.fillOpRemoveMap, calculateOpOffset (5.3.3).
"""

from dataclasses import field

from ..kernel.value_class import value
from ..message import properties as props
from ..message.stored_record import Record
from .op_queue import REMOVE_TAG, half_offsets


@value
class CheckRound:
    """A walk that began at `start_ms` at the committed half and op offsets.

    `decided` maps half offsets to the offset of the op message that names them, `open_ops` op offsets to the half
    offsets in them that the walk has not reached, `done_ops` holds op offsets with nothing left to say.
    """

    start_ms: int
    first_half: int
    first_op: int
    position: int = 0
    next_op: int = 0
    decided: dict[int, int] = field(default_factory=dict)
    open_ops: dict[int, set[int]] = field(default_factory=dict)
    done_ops: set[int] = field(default_factory=set)
    last_op_born_ms: int | None = None
    """Born timestamp of the last op message of the last read; None when that read found nothing."""
    skipped: bool = False
    """The position was corrected because the store had dropped what was there; happens once a round."""

    def __post_init__(self) -> None:
        self.position, self.next_op = self.first_half, self.first_op

    def take_in(self, op: Record) -> None:
        """Learn what an op message decides; what lies before the committed half offset is passed over."""
        self.last_op_born_ms = op.born_timestamp
        named: set[int] = set()
        if op.property_map().get(props.TAGS) == REMOVE_TAG:
            named = {offset for offset in half_offsets(op.body) if offset >= self.first_half}
        self.decided.update(dict.fromkeys(named, op.queue_offset))
        if named:
            self.open_ops[op.queue_offset] = named
        else:
            self.done_ops.add(op.queue_offset)

    def pass_decided(self) -> None:
        """The walk has reached a decided half message: its op message has one thing less to say."""
        op_offset = self.decided.pop(self.position)
        named = self.open_ops.get(op_offset)
        if named is not None:
            named.discard(self.position)
            if not named:
                del self.open_ops[op_offset]
                self.done_ops.add(op_offset)

    def take_decision(self, half_offset: int) -> bool:
        """Whether a half message was decided by an offset that the walk has left behind; it is told once."""
        op_offset = self.decided.pop(half_offset, None)
        if op_offset is None:
            return False
        self.done_ops.add(op_offset)
        return True

    def op_end(self) -> int:
        """The op offset before which everything is done."""
        end = self.first_op
        while end in self.done_ops:
            end += 1
        return end
