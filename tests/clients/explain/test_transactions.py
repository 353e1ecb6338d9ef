"""Reasons that lie in a transaction: not decided, rolled back, discarded."""

from explained_sdks import Scene
from rocketmq_testkit.fixtures import Reason


def test_checks_of_an_undecided_transaction_are_counted(scene: Scene) -> None:
    """The verdict counts the checks of an undecided transaction, and holds until the next check."""
    scene.topic("TRANSACTION")
    driver = scene.producer("java-grpc", check="UNKNOWN")
    message_id = scene.produce(driver, verb="send_tx", outcome="UNKNOWN")["id"]
    found = scene.explain(message_id, Reason.HALF_UNCHECKED)
    assert found.until_ms is not None
    assert "has neither committed nor rolled back the transaction, and the first check is at " in str(found)

    for number in (1, 2):
        before = scene.emulator.explain(message_id)
        assert before.until_ms is not None
        scene.emulator.clock.advance(f"{before.until_ms - before.at_ms}ms")
        found = scene.explain(message_id, Reason.HALF_CHECKED)
        assert f"checked {number} time" in str(found)


def test_a_rolled_back_message_names_its_producer(scene: Scene) -> None:
    """The sentence names the producer that rolled the transaction back."""
    scene.topic("TRANSACTION")
    driver = scene.producer("java-remoting", check="UNKNOWN")
    message_id = scene.produce(driver, verb="send_tx", outcome="ROLLBACK")["id"]
    scene.emulator.clock.advance_until(
        lambda: scene.emulator.explain(message_id).reason is Reason.ROLLED_BACK, limit="10s"
    )
    found = scene.explain(message_id, Reason.ROLLED_BACK)
    assert "was rolled back by " in str(found)


def test_committed_transaction_is_explained_for_the_group(scene: Scene) -> None:
    """The explanation of a committed message for a group is that of an ordinary message."""
    scene.topic("TRANSACTION")
    driver = scene.producer("java-remoting", check="UNKNOWN")
    message_id = scene.produce(driver, verb="send_tx", outcome="COMMIT")["id"]
    scene.emulator.clock.advance_until(
        lambda: scene.emulator.explain(message_id).reason is Reason.AVAILABLE, limit="10s"
    )
    scene.explain(message_id, Reason.NO_SUCH_GROUP)


def test_a_transaction_without_answers_is_discarded(scene: Scene) -> None:
    """A broker discards a transaction after transactionCheckMax checks without a commit or rollback."""
    scene.topic("TRANSACTION")
    driver = scene.producer("java-grpc", check="UNKNOWN")
    scene.emulator.configure({"transactionCheckMax": 2})
    try:
        message_id = scene.produce(driver, verb="send_tx", outcome="UNKNOWN")["id"]
        scene.emulator.clock.advance_until(
            lambda: scene.emulator.explain(message_id).reason is Reason.DISCARDED, limit="10m"
        )
    finally:
        scene.emulator.configure({"transactionCheckMax": 15})
    found = scene.explain(message_id, Reason.DISCARDED)
    assert "was discarded at " in str(found)
    assert "after 2 checks" in str(found)
    assert message_id in [each.message_id for each in scene.emulator.discarded_transactions()]
