"""One answer of a broker or name server, as a case sees it."""

import json
import re
from dataclasses import dataclass, replace
from typing import Any

from rocketmq_testkit.remoting.client import ReceivedMessage, decode_messages
from rocketmq_testkit.remoting.wire.command import RemotingCommand

_BARE_KEY = re.compile(r"(?<=[{,])(-?\d+):")
"""A number as a key: fastjson writes it without quotes."""
_OBJECT_KEY = re.compile(r"\{(\{[^{}]*\}):")
_NEXT_OBJECT_KEY = re.compile(r",(\{[^{}]*\}):")


@dataclass(frozen=True, slots=True)
class Answer:
    """Code, remark, ext fields and body of a response; `fields` is empty where it has none."""

    code: int
    remark: str | None
    fields: dict[str, str]
    body: bytes

    @classmethod
    def of(cls, command: RemotingCommand) -> "Answer":
        """The answer in a response command."""
        return cls(command.code, command.remark, dict(command.ext_fields or {}), command.body)

    def without(self, *fields: str) -> "Answer":
        """The answer without the ext fields that depend on what others did to a shared queue."""
        return replace(self, fields={name: text for name, text in self.fields.items() if name not in fields})

    @property
    def json(self) -> Any:
        """The body as JSON, upstream's dialect included: keys that are numbers or objects become texts."""
        return json_of(self.body)

    @property
    def messages(self) -> list[ReceivedMessage]:
        """The messages in the body."""
        return decode_messages(self.body)

    @property
    def bodies(self) -> list[str]:
        """The bodies of the messages, as texts."""
        return [message.body.decode() for message in self.messages]

    @property
    def found(self) -> "list[str] | Answer":
        """The bodies of the messages that were found; the whole answer where none was."""
        return self.bodies if self.code == 0 else self

    @property
    def place(self) -> int:
        """The place in the commit log of the message that was sent, by the id that the broker gave it."""
        return int(self["msgId"][-16:], 16)

    def __getitem__(self, field: str) -> str:
        """An ext field; a KeyError shows the whole answer."""
        try:
            return self.fields[field]
        except KeyError:
            raise KeyError(f"the answer has no {field}: {self}") from None


def json_of(body: bytes) -> Any:
    """The value of a JSON text in upstream's dialect. Raises ValueError."""
    text = body.decode()
    try:
        return json.loads(text)
    except ValueError:
        text = _BARE_KEY.sub(r'"\1":', text)
        text = _OBJECT_KEY.sub(lambda found: "{" + json.dumps(found[1]) + ":", text)
        text = _NEXT_OBJECT_KEY.sub(lambda found: "," + json.dumps(found[1]) + ":", text)
        return json.loads(text)
