"""The verdict about compacted messages: which later message replaced one."""

from dataclasses import replace

import pytest
from explained_situations import read
from prepared_past import copy_of, message_of
from rocketmq_testkit.emulator.explanation.reason import Reason
from rocketmq_testkit.emulator.inspection.messages import CopyState, MessageWithCopies


def keyed(offset: int, keys: str) -> MessageWithCopies:
    """A message of queue 3 with several words in its property KEYS."""
    copy = copy_of(CopyState.STORED, "orders", offset, queue=3, offset=offset, KEYS=keys)
    return replace(message_of(copy), message_id="ID1" if offset == 4 else f"ID{offset}", keys=tuple(keys.split()))


@pytest.mark.parametrize(
    ("keys", "later", "shown"),
    [
        ("tea cup", ["tea cup", "tea pot"], ": offset 5 has the same key tea cup"),
        ("tea", ["tea cup", "tea", "tea pot"], ": offset 6 has the same key tea"),
        ("tea cup", ["cup tea"], ": it has no key or no body"),
    ],
)
def test_the_message_with_the_same_words_in_keys_replaced_a_compacted_one(
    keys: str, later: list[str], shown: str
) -> None:
    """Compaction compares the whole property KEYS; a message with some of the words does not replace it."""
    message = keyed(4, keys)
    others = [keyed(offset, text) for offset, text in enumerate(later, 5)]
    place = message.copies[0].place
    found = read(4, message=message, compacted=[place], stored_messages=[message, *others]).explain()
    assert found.reason is Reason.COMPACTED_AWAY
    assert str(found).endswith(shown)
