"""Op messages in one round of the transaction check, and the offset before which all of them are done."""

from rocketmq_testkit.emulator.message import stored_record as records
from rocketmq_testkit.emulator.message.stored_record import Record, decode
from rocketmq_testkit.emulator.transaction.check_round import CheckRound

HOST = records.pack_host(("10.0.0.1", 1))


def op(offset: int, *halves: int, tag: str = "d") -> Record:
    """Return an op message that ends half messages."""
    body = ",".join(map(str, halves)).encode()
    properties = f"TAGS\x01{tag}\x02".encode()
    form = records.form_of(b"ops", len(HOST), len(HOST))
    stored = records.encode(form, 0, 0, offset, 0, 0, 0, HOST, 0, HOST, 0, 0, body, properties)
    return decode(stored)


def test_an_op_message_is_done_when_the_round_has_passed_all_its_half_messages() -> None:
    """An op message is done once the round has passed all its half messages; later ones wait for it."""
    check_round = CheckRound(0, 10, 5)
    check_round.add_op_message(op(5, 10, 12))
    check_round.add_op_message(op(6, 11))
    seen = []
    for position in (10, 11, 12):
        check_round.position = position
        check_round.skip_decided()
        seen.append(check_round.op_end())
    assert seen == [5, 5, 7]
    assert (check_round.decided, check_round.open_ops) == ({}, {})


def test_an_op_message_of_half_offsets_before_the_committed_one_is_done() -> None:
    """An op message with only half offsets before the committed one, or with another tag, is done at once."""
    check_round = CheckRound(0, 10, 5)
    check_round.add_op_message(op(5, 8, 9))
    check_round.add_op_message(op(6, 11, tag="x"))
    check_round.add_op_message(op(7, 9, 10))
    assert (check_round.op_end(), check_round.decided) == (7, {10: 7})


def test_a_decision_of_an_op_message_is_returned_once() -> None:
    """A decision is returned once, and then its op message is done."""
    check_round = CheckRound(0, 10, 5)
    check_round.add_op_message(op(5, 10))
    assert (check_round.take_decision(11), check_round.take_decision(10), check_round.take_decision(10)) == (
        False,
        True,
        False,
    )
    assert check_round.op_end() == 6
