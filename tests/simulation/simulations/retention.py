"""Messages that fill log files, and requests to delete these files, for brokers with a retention."""

from typing import TYPE_CHECKING

import observations as obs
from deleted_files import Retention
from rocketmq_testkit.emulator.config import BrokerConfig
from rocketmq_testkit.emulator.operations.cluster import DeleteExpiredCommitLog

if TYPE_CHECKING:
    from session import Session
    from simulation import Action, Simulation

FILLER_TOPIC = "F"
"""A topic that no group reads."""
FILLER_BYTES = 100_000
"""Two of these bodies nearly fill a file."""
FILE_BYTES = 256 * 1024
ROOM = 17
"""Maximum percentage of the disk filled by messages; above 20 the broker would reject sends."""


def configure(config: BrokerConfig, kept: Retention) -> None:
    """Configure small files and their retention."""
    config.max_message_size = FILE_BYTES // 2
    config.mapped_file_size_commit_log = FILE_BYTES
    config.delete_when = kept.hours
    config.file_reserved_time = kept.reserved_hours
    config.store_disk_bytes = kept.disk_bytes
    config.disk_used_ratio = kept.others


def fill(simulation: "Simulation", action: "Action", lost: bool) -> None:
    """Send messages, two of which fill a file, unless they would fill the disk."""
    session, kept = simulation.session, simulation.retention
    if kept is None:
        return
    store = session.broker.store
    for number in range(1 + action.a % 5):
        if not kept.disk_bytes or (store.log.stored_bytes + FILLER_BYTES) * 100 < kept.disk_bytes * ROOM:
            message_id = f"f{simulation.steps}.{number}"
            session.send(simulation.clients[0], FILLER_TOPIC, 0, message_id, tag=None, size=FILLER_BYTES)


def delete(simulation: "Simulation", action: "Action", lost: bool) -> None:
    """Request the deletion of files."""
    session = simulation.session
    if simulation.retention is not None and session.broker.running:
        session.ask(simulation.clients[0], DeleteExpiredCommitLog(), lambda outcome, waited: _request_deletion(session))


def _request_deletion(session: "Session") -> None:
    session.note(obs.DeletionRequested(session.now_ms))
