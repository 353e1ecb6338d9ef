"""`journaled()`: the part of an operation or a result that the journal keeps, without secrets and bytes of messages."""

import importlib
import pkgutil
from collections.abc import Iterator
from dataclasses import asdict, is_dataclass
from typing import Any

import pytest
from rocketmq_testkit.emulator import operations
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.operations.base import Operation, Result
from rocketmq_testkit.emulator.operations.cluster import TextResult, UpdateBrokerConfig, UpdateNamesrvConfig
from rocketmq_testkit.emulator.operations.consume import PoppedMessage, PopResult, PullResult, PullStatus
from rocketmq_testkit.emulator.operations.message_queries import MessagesResult
from rocketmq_testkit.emulator.operations.offsets import GetMaxOffset
from rocketmq_testkit.emulator.operations.send import SendMessage, SendReplyMessage
from rocketmq_testkit.emulator.operations.users import CreateUser, UpdateUser, UserInfo, UserResult, UsersResult

SECRET, BYTES = "s3cret", b"bytes of a message"
MESSAGE = SendMessage("p", "orders", 0, BYTES, {"KEYS": "k"}, ("10.0.0.1", 5000), 0)
POPPED = PoppedMessage(BYTES, 0, 0, 7, 7, 0, 0)
ANN = UserInfo(SECRET, "Super")
KEYS = {"secretKey": SECRET, "brokerName": "kept"}
SAMPLES: list[Operation | Result] = [
    MESSAGE,
    SendReplyMessage(MESSAGE),
    PullResult(ResponseCode.SUCCESS, PullStatus.FOUND, 1, 0, 1, [BYTES], [0]),
    PopResult(ResponseCode.SUCCESS, 0, 60_000, 0, 0, [POPPED], "0 0 7", "0 0 7"),
    MessagesResult([BYTES]),
    CreateUser("ann", ANN),
    UpdateUser("ann", ANN),
    UserResult("ann", ANN),
    UsersResult({"ann": ANN}),
    TextResult(f"brokerName=kept\nsecretKey={SECRET}\n"),
    UpdateBrokerConfig(KEYS),
    UpdateNamesrvConfig(KEYS),
]
"""One object of each class that keeps less than itself."""
each_sample = pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: type(sample).__name__)


def content(value: Any) -> str:
    """Return all fields as text, including those that `repr` omits."""
    assert is_dataclass(value)
    assert not isinstance(value, type)
    return str(asdict(value))


def classes_below(base: type[Any]) -> Iterator[type[Any]]:
    for each in base.__subclasses__():
        if each.__module__.startswith(f"{operations.__name__}."):
            yield each
            yield from classes_below(each)


def test_each_class_that_keeps_less_than_itself_has_a_sample() -> None:
    for module in pkgutil.iter_modules(operations.__path__):
        importlib.import_module(f"{operations.__name__}.{module.name}")
    found = {each for base in (Operation, Result) for each in classes_below(base) if "journaled" in vars(each)}
    assert found == {type(sample) for sample in SAMPLES}


@each_sample
def test_the_journaled_part_has_neither_secrets_nor_bytes_of_messages(sample: Operation | Result) -> None:
    """The request itself is unchanged: the broker has yet to carry it out, or the channel to encode it."""
    before = content(sample)
    assert SECRET in before or str(BYTES) in before
    kept = content(sample.journaled())
    assert SECRET not in kept
    assert str(BYTES) not in kept
    assert content(sample) == before


@each_sample
def test_the_journaled_part_is_of_the_same_class_and_is_journaled_as_it_is(sample: Operation | Result) -> None:
    kept = sample.journaled()
    assert type(kept) is type(sample)
    assert kept.journaled() == kept


def test_the_journaled_part_keeps_all_other_fields() -> None:
    assert UpdateBrokerConfig(KEYS).journaled() == UpdateBrokerConfig({"secretKey": "***", "brokerName": "kept"})
    assert TextResult(f"a=1\nsecretKey={SECRET}\n", 3, 4).journaled() == TextResult("a=1\nsecretKey=***\n", 3, 4)
    pop = PopResult(ResponseCode.SUCCESS, 5, 60_000, 1, 2, [POPPED], "0 0 7", "0 0 7")
    assert pop.journaled() == PopResult(ResponseCode.SUCCESS, 5, 60_000, 1, 2, [], "0 0 7", "0 0 7")


def test_a_user_without_a_password_in_the_request_is_journaled_without_one() -> None:
    """The mask would say that the request has a password."""
    assert UpdateUser("ann", UserInfo(None, "Super")).journaled() == UpdateUser("ann", UserInfo(None, "Super"))


def test_an_operation_without_secrets_and_bytes_is_journaled_without_a_copy() -> None:
    operation = GetMaxOffset("orders", 0)
    assert operation.journaled() is operation
