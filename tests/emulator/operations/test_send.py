"""`SendMessage`: the store takes the body, and equality ignores the length that the store adds."""

from rocketmq_testkit.emulator.operations.send import SendMessage


def message() -> SendMessage:
    return SendMessage("p", "orders", 0, b"body", {}, ("10.0.0.1", 5000), 0)


def test_the_body_can_be_taken_once() -> None:
    operation = message()
    assert [operation.take_body(), operation.take_body()] == [b"body", b""]


def test_the_known_length_of_properties_does_not_affect_equality() -> None:
    stored = message()
    stored.properties_length = 12
    assert stored == message()


def test_the_journal_gets_the_operation_itself_once_the_store_took_its_body() -> None:
    operation = message()
    assert operation.journaled() is not operation
    operation.take_body()
    assert operation.journaled() is operation
