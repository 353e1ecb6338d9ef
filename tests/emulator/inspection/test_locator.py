"""Messages are found by unique key, offset message id, key, and queue and offset, with all their copies."""

import pytest
from engine_harness import EngineHarness, make_harness
from inspected import look
from rocketmq_testkit.emulator.inspection import log_index
from rocketmq_testkit.emulator.inspection.messages import CopyState
from rocketmq_testkit.emulator.message.message import MessageToStore
from rocketmq_testkit.emulator.message.names import SCHEDULE_TOPIC
from rocketmq_testkit.emulator.message.stored_record import offset_message_id
from rocketmq_testkit.emulator.operations.cluster import UpdateBrokerConfig
from rocketmq_testkit.emulator.operations.send import SendMessageBack
from rocketmq_testkit.emulator.operations.topics import DeleteTopic

ID = "7F0000010A2B18B4AAC200000000000"


@pytest.fixture(params=[False, True], ids=["searched", "indexed"])
def harness(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, harness: EngineHarness) -> EngineHarness:
    """Return a harness whose log is searched without an index, or is indexed at each search."""
    if request.param:
        monkeypatch.setattr(log_index, "SEARCHED_BYTES", -1)
        monkeypatch.setattr(log_index, "LONG_SEARCHES", 0)
        monkeypatch.setattr(log_index, "INDEXED_SHARE", 1)
        monkeypatch.setattr(log_index, "BLOCK_BYTES", 500)
    return harness


def test_message_is_found_by_id_offset_id_and_key(harness: EngineHarness) -> None:
    harness.topic("A")
    harness.send("A", b"one", UNIQ_KEY=f"{ID}1", KEYS="k1 both")
    sent = harness.send("A", b"two", UNIQ_KEY=f"{ID}2", KEYS="both k2", TAGS="t", __SHARDINGKEY="m")
    inspection = look(harness)
    (found,) = inspection.find(f"{ID}2")
    assert (found.message_id, found.topic, found.tag, found.keys) == (f"{ID}2", "A", "t", ("both", "k2"))
    assert (found.message_group, found.sender, found.born_at_ms) == ("m", "10.0.0.1:5000", harness.now_ms)
    assert [copy.state for copy in found.copies] == [CopyState.STORED]
    assert inspection.find(sent.msg_id) == inspection.find("k2") == [found]
    assert [each.message_id for each in inspection.find("both")] == [f"{ID}1", f"{ID}2"]
    assert inspection.at(found.copies[0].place) == found
    assert inspection.find("both", "A")
    assert not inspection.find("both", "B")
    assert not inspection.find("bot")
    assert not inspection.find("one")
    assert not inspection.find("")


def test_record_without_unique_key_is_found_by_its_offset_id(harness: EngineHarness) -> None:
    """Brokers add a unique key only to sent messages. A copy in a dead letter queue has the id of its origin."""
    harness.topic("A")
    store = harness.broker.store
    store.append(MessageToStore("A", 0, b"m", {}, harness.now_ms, store.store_host))
    offset_id = offset_message_id(store.store_host, 0)
    (found,) = look(harness).find(offset_id)
    assert found.message_id == offset_id
    harness.engine.execute(harness.broker, SendMessageBack("H", 0, -1, origin_topic="A"))
    (found,) = look(harness).find(offset_id)
    assert [copy.state for copy in found.copies] == [CopyState.STORED, CopyState.DEAD]
    assert look(harness).at(found.copies[1].place) == found
    assert look(harness).find(offset_id, "%DLQ%H") == [found]
    assert look(harness).find(offset_id, "%DLQ%G") == []


def test_delayed_record_without_its_queue_is_not_found(harness: EngineHarness) -> None:
    """The records of a deleted schedule topic remain in the log, but no queue contains them."""
    harness.topic("A")
    harness.send("A", UNIQ_KEY=f"{ID}1", DELAY="3")
    assert look(harness).find(f"{ID}1")
    harness.broker.store.delete_topic(SCHEDULE_TOPIC)
    assert look(harness).find(f"{ID}1") == []


def test_last_property_without_separator_is_found(harness: EngineHarness) -> None:
    """SDKs may omit the separator after the last property of a record."""
    harness.topic("A")
    store = harness.broker.store
    for key in ("first", "last"):
        store.append(
            MessageToStore("A", 0, b"m", {}, harness.now_ms, store.store_host), f"TAGS\x01t\x02KEYS\x01x {key}"
        )
    inspection = look(harness)
    assert [len(inspection.find(key)) for key in ("first", "last")] == [1, 1]


def test_all_copies_of_a_retried_message_are_one_family(harness: EngineHarness) -> None:
    harness.topic("A")
    harness.send("A", b"m", UNIQ_KEY=f"{ID}1")
    harness.popped("A", invisible_ms=10_000)
    harness.advance(20_000)
    (found,) = look(harness).find(f"{ID}1")
    assert [(copy.state, copy.group, copy.retry) for copy in found.copies] == [
        (CopyState.STORED, None, 0),
        (CopyState.RETRY, "G", 1),
    ]
    assert [copy.place.topic for copy in found.copies] == ["A", "%RETRY%G_A"]


def test_sent_back_message_has_a_delayed_copy_for_its_group(harness: EngineHarness) -> None:
    harness.topic("A")
    sent = harness.send("A", b"m")
    for level in (1, -1):
        back = SendMessageBack(group="H", offset=sent.physical_offset, delay_level=level, origin_topic="A")
        harness.engine.execute(harness.broker, back)
    harness.advance(2_000)
    (found,) = look(harness).find(sent.msg_id)
    assert sorted((copy.state.value, copy.group) for copy in found.copies if copy.group) == [
        ("dead", "H"),
        ("delayed", "H"),
        ("retry", "H"),
    ]
    assert found.topic == "A"


def test_messages_with_one_id_in_two_topics_are_two_messages(harness: EngineHarness) -> None:
    harness.topic("A")
    harness.topic("B")
    harness.send("A", UNIQ_KEY=f"{ID}1")
    harness.send("B", UNIQ_KEY=f"{ID}1")
    assert [found.topic for found in look(harness).find(f"{ID}1")] == ["A", "B"]
    assert [found.topic for found in look(harness).find(f"{ID}1", "B")] == ["B"]


def test_message_of_a_deleted_topic_is_not_found(harness: EngineHarness) -> None:
    harness.topic("A")
    harness.send("A", UNIQ_KEY=f"{ID}1")
    inspection = look(harness)
    assert inspection.find(f"{ID}1")
    harness.engine.execute(harness.broker, DeleteTopic("A"))
    assert not inspection.find(f"{ID}1")


def test_message_of_a_deleted_topic_is_distinguished_from_stored_messages(harness: EngineHarness) -> None:
    """Its record remains in the log without a queue, even after a topic of the same name was created."""
    harness.topic("A")
    harness.send("A", queue=0, UNIQ_KEY=f"{ID}1", KEYS="k1")
    (stored,) = look(harness).find("k1")
    place = stored.copies[0].place
    assert look(harness).is_held(place)
    assert look(harness).of_deleted_topic("k1") is None
    assert look(harness).at_offset(place.broker, "A", 0, 0) == stored

    harness.engine.execute(harness.broker, DeleteTopic("A"))
    assert look(harness).at_offset(place.broker, "A", 0, 0) is None
    harness.topic("A")
    harness.send("A", queue=0, UNIQ_KEY=f"{ID}2", KEYS="k2")
    inspection = look(harness)
    assert not inspection.is_held(place)
    for text in ("k1", f"{ID}1"):
        assert inspection.of_deleted_topic(text) == stored
        assert inspection.of_deleted_topic(text, "B") is None
    assert inspection.of_deleted_topic("k2") is None
    assert inspection.at_offset(place.broker, "A", 0, 0) == inspection.find("k2")[0]
    assert inspection.at_offset(place.broker, "A", 0, 1) is None
    assert inspection.at_offset("broker-z", "A", 0, 0) is None


def test_lost_and_deleted_records_are_not_found(harness: EngineHarness) -> None:
    harness.topic("A")
    harness.engine.execute(harness.broker, UpdateBrokerConfig({"flushDiskType": "ASYNC_FLUSH"}))
    harness.send("A", UNIQ_KEY=f"{ID}1")
    harness.advance(60_000)
    harness.send("A", UNIQ_KEY=f"{ID}2")
    inspection = look(harness)
    assert inspection.find(f"{ID}1")
    assert inspection.find(f"{ID}2")
    harness.engine.crash(harness.broker)
    assert inspection.find(f"{ID}1")
    assert not inspection.find(f"{ID}2")
    harness.send("A", b"longer body", UNIQ_KEY=f"{ID}3")
    assert inspection.find(f"{ID}3")
    assert not inspection.find(f"{ID}2")


def test_deleted_segments_are_not_found() -> None:
    harness = make_harness(store_max_bytes=1 << 20, max_message_size=1 << 10)
    harness.topic("A")
    inspection = look(harness)
    harness.send("A", UNIQ_KEY=f"{ID}1")
    assert inspection.find(f"{ID}1")
    while harness.broker.store.log.min_offset == 0:
        harness.send("A", b"x" * 1000, UNIQ_KEY=f"{ID}2")
    assert not inspection.find(f"{ID}1")
    assert inspection.find(f"{ID}2")


@pytest.mark.parametrize(
    ("wanted", "nearest"),
    [(f"{ID}3", (f"{ID}1", "A")), ("order-1002", ("order-1001", "A")), ("odrer-1001", ("order-1001", "A"))],
)
def test_search_for_an_unknown_id_or_key_returns_the_nearest_one(
    harness: EngineHarness, wanted: str, nearest: tuple[str, str]
) -> None:
    harness.topic("A")
    harness.send("A", UNIQ_KEY=f"{ID}1", KEYS="order-1001")
    assert look(harness).nearest(wanted) == nearest
    assert look(harness).nearest(wanted, "B") is None


def test_search_for_a_text_unlike_all_ids_and_keys_returns_no_nearest_one(harness: EngineHarness) -> None:
    harness.topic("A")
    harness.send("A", UNIQ_KEY=f"{ID}1", KEYS="order-1001")
    assert look(harness).nearest("invoice") is None
    assert look(harness).nearest("") is None
