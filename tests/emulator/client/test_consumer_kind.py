"""The table of consumer kinds, and the lookup of a kind by the consume type and message model of a heartbeat."""

from dataclasses import replace

import pytest
from rocketmq_testkit.emulator.client.client_registry import ConsumerGroup
from rocketmq_testkit.emulator.client.consumer_kind import (
    CONSUMER_KINDS,
    ConsumerKind,
    JumpWait,
    _by_modes,
    kind_of,
)
from rocketmq_testkit.emulator.operations.clients import ACTIVELY, BROADCASTING, CLUSTERING, PASSIVELY


@pytest.mark.parametrize("kind", CONSUMER_KINDS, ids=lambda kind: kind.name)
def test_each_kind_is_found_by_its_modes(kind: ConsumerKind) -> None:
    """The lookup returns each row for its own modes, so no two rows have the same modes."""
    assert kind_of(kind.consume_type, kind.message_model) is kind
    assert ConsumerGroup("g", kind.consume_type, kind.message_model).kind is kind


def test_names_of_kinds_are_unique() -> None:
    """Every pair of modes has one row with a name of its own."""
    assert len({kind.name for kind in CONSUMER_KINDS}) == len(CONSUMER_KINDS) == 4


@pytest.mark.parametrize("consume_type", [ACTIVELY, "CONSUME_POP"])
def test_a_second_kind_with_the_same_modes_is_rejected(consume_type: str) -> None:
    """A row with the modes of another row raises AssertionError, also if only the lookup treats its modes as equal."""
    second = replace(CONSUMER_KINDS[2], name="pop consumer", consume_type=consume_type)
    with pytest.raises(AssertionError, match="pop consumer has the modes of pull or simple consumer"):
        _by_modes((*CONSUMER_KINDS, second))


def test_unknown_modes_count_as_a_pull_consumer_of_a_clustering_group() -> None:
    """The consume type CONSUME_POP counts as ACTIVELY, and an unknown message model as CLUSTERING."""
    assert kind_of("CONSUME_POP", CLUSTERING) is kind_of(ACTIVELY, CLUSTERING)
    assert kind_of("CONSUME_POP", BROADCASTING) is kind_of(ACTIVELY, BROADCASTING)
    assert kind_of(PASSIVELY, "another") is kind_of(PASSIVELY, CLUSTERING)


@pytest.mark.parametrize("kind", CONSUMER_KINDS, ids=lambda kind: kind.name)
def test_a_jump_never_waits_for_unknown_progress(kind: ConsumerKind) -> None:
    """If brokers do not learn the progress of a consumer, a jump waits neither for its pulls nor for first requests."""
    if not kind.reports_progress:
        assert (kind.pulled, kind.first_request) == (JumpWait.NONE, JumpWait.NONE)


@pytest.mark.parametrize("kind", CONSUMER_KINDS, ids=lambda kind: kind.name)
def test_a_jump_waits_only_for_the_next_poll_of_a_push_consumer(kind: ConsumerKind) -> None:
    """A jump waits for the next poll of a push consumer, whose SDK polls by itself, and of no other consumer."""
    push = kind.consume_type == PASSIVELY
    assert (kind.next_poll is JumpWait.BRIEF) == push
    assert kind.popped is (JumpWait.UNTIL_DONE if push else JumpWait.BRIEF)
    assert (kind.first_request is JumpWait.UNTIL_DONE) == (push and kind.message_model == CLUSTERING)
