"""Ports for real brokers: reserved ports are not assigned twice, and ports that other programs use are skipped."""

import socket

import pytest
from rocketmq_testkit.conformance.deployment.target import TargetError
from rocketmq_testkit.conformance.targets import ports
from rocketmq_testkit.conformance.targets.ports import SIZE, PortBlock

TWO_BLOCKS = 2 * SIZE + 1


@pytest.fixture
def first(monkeypatch: pytest.MonkeyPatch) -> int:
    """The first port of a range with room for two blocks."""
    held = PortBlock()
    held.release()
    monkeypatch.setattr(ports, "FIRST", held.namesrv)
    monkeypatch.setattr(ports, "END", held.namesrv + TWO_BLOCKS)
    return held.namesrv


def test_reserved_ports_stay_reserved_while_no_broker_listens(first: int) -> None:
    """Reserved ports stay reserved while no broker listens, as between stop and restart; released ones are reusable."""
    held = [PortBlock(), PortBlock()]
    assert {each.namesrv for each in held} == {first, first + SIZE}
    with pytest.raises(TargetError, match=f"no 11 consecutive ports are free from {first} to {first + TWO_BLOCKS - 1}"):
        PortBlock()
    held[0].release()
    again = PortBlock()
    assert again.namesrv == held[0].namesrv
    again.release()
    held[1].release()


def test_a_block_with_a_port_of_another_program_is_skipped(first: int) -> None:
    """A block of ports is skipped even if another program uses only its last port."""
    with socket.create_server(("127.0.0.1", first + SIZE - 1)):
        found = PortBlock()
    assert found.namesrv == first + SIZE
    found.release()


def test_all_ports_of_a_block_are_distinct() -> None:
    """All ports of a block are distinct, including the two on which a broker listens beside its configured port."""
    held = PortBlock()
    wanted = [held.namesrv, held.grpc, held.remoting]
    wanted += [port + more for port in (held.broker, held.second_broker) for more in (-2, 0, 1)]
    held.release()
    assert len(set(wanted)) == len(wanted)
    assert set(wanted) <= set(range(held.namesrv, held.namesrv + SIZE))
