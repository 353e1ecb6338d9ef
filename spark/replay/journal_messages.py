"""The messages of an emulator's journal file as a recording that a replay can send."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rocketmq_testkit.emulator.message.names import is_retry_or_dlq
from rocketmq_testkit.fixtures.journal import journal_file


def recording_of(path: str, folder: Path) -> str | None:
    """Write the messages of a journal file as JSON Lines to a new file in `folder`, and return its path.

    Returns None if `path` is no journal file. Copies of messages in retry topics and dead letter queues are left out.
    Raises UnreadableJournal.
    """
    file = Path(path)
    found = journal_file.read(file) if file.is_file() else None
    if found is None:
        return None
    recording = folder / f"journal-{len(list(folder.glob('journal-*')))}.jsonl"
    with recording.open("w", encoding="utf-8") as lines:
        for message in found.messages:
            if not is_retry_or_dlq(message["topic"]):
                lines.write(json.dumps(_row(message)) + "\n")
    return str(recording)


def _row(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message with the columns of the data source `rocketmq`."""
    return {
        "topic": message["topic"],
        "body": message["body"],
        "properties": json.dumps(message["properties"]),
        "brokerName": message["broker"],
        "queueId": message["queue_id"],
        "queueOffset": message["queue_offset"],
        "bornTimestamp": _time(message["born_at_ms"]),
        "storeTimestamp": _time(message["stored_at_ms"]),
        "msgId": message["message_id"],
        "offsetMsgId": message["offset_message_id"],
        "keys": " ".join(message["keys"]),
        "tags": message["tag"],
        "commitLogOffset": message["physical_offset"],
        "reconsumeTimes": message["reconsume_times"],
        "bornHost": "{}:{}".format(*message["born_host"]),
        "messageGroup": message["message_group"],
    }


def _time(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds")
