"""Op messages in one round of the transaction check, and the offset up to which they are done."""

from rocketmq_testkit.emulator.message import stored_record as records
from rocketmq_testkit.emulator.message.stored_record import Record, decode
from rocketmq_testkit.emulator.transaction.check_round import CheckRound

HOST = records.pack_host(("10.0.0.1", 1))


def op(offset: int, *halves: int, tag: str = "d") -> Record:
    """Return an op message that ends half messages."""
    body = ",".join(map(str, halves)).encode()
    properties = f"TAGS\x01{tag}\x02".encode()
    stored = records.encode(b"ops", 0, 0, offset, 0, 0, 0, HOST, 0, HOST, 0, 0, body, properties)
    return decode(stored)


def test_an_op_message_is_done_when_the_walk_has_passed_all_that_it_names() -> None:
    """An op message is done once the round has passed all its half messages; later ones wait for it."""
    this = CheckRound(0, 10, 5)
    this.take_in(op(5, 10, 12))
    this.take_in(op(6, 11))
    seen = []
    for position in (10, 11, 12):
        this.position = position
        this.pass_decided()
        seen.append(this.op_end())
    assert seen == [5, 5, 7]
    assert (this.decided, this.open_ops) == ({}, {})


def test_what_lies_before_the_committed_offset_is_done() -> None:
    """An op message with only half offsets before the committed one, or with another tag, is done at once."""
    this = CheckRound(0, 10, 5)
    this.take_in(op(5, 8, 9))
    this.take_in(op(6, 11, tag="x"))
    this.take_in(op(7, 9, 10))
    assert (this.op_end(), this.decided) == (7, {10: 7})


def test_a_decision_is_told_once() -> None:
    """A decision is returned once, and then its op message is done."""
    this = CheckRound(0, 10, 5)
    this.take_in(op(5, 10))
    assert (this.take_decision(11), this.take_decision(10), this.take_decision(10)) == (False, True, False)
    assert this.op_end() == 6
