"""One response of a broker or name server, as a test sees it."""

import json
import re
from dataclasses import dataclass, replace
from typing import Any

from rocketmq_testkit.remoting.client import ReceivedMessage, decode_messages
from rocketmq_testkit.remoting.wire.command import RemotingCommand

_BARE_KEY = re.compile(r"(?<=[{,])(-?\d+):")
"""A number as a key, which fastjson writes without quotes."""
_OBJECT_KEY = re.compile(r"\{(\{[^{}]*\}):")
"""An object as the first key, which fastjson writes, too; `_NEXT_OBJECT_KEY` matches later keys."""
_NEXT_OBJECT_KEY = re.compile(r",(\{[^{}]*\}):")


@dataclass(frozen=True, slots=True)
class DecodedResponse:
    """Code, remark, ext fields and body of a response; `fields` is empty if it has none."""

    code: int
    remark: str | None
    fields: dict[str, str]
    body: bytes

    @classmethod
    def of(cls, command: RemotingCommand) -> "DecodedResponse":
        """Return the response in a command."""
        return cls(command.code, command.remark, dict(command.ext_fields or {}), command.body)

    def without(self, *fields: str) -> "DecodedResponse":
        """Return the response without some of its ext fields, such as those that differ between runs."""
        return replace(self, fields={name: text for name, text in self.fields.items() if name not in fields})

    @property
    def json(self) -> Any:
        """The body as JSON, including upstream's dialect: keys that are numbers or objects become strings."""
        return json_of(self.body)

    @property
    def messages(self) -> list[ReceivedMessage]:
        """The messages in the body."""
        return decode_messages(self.body)

    @property
    def bodies(self) -> list[str]:
        """The bodies of the messages as strings."""
        return [message.body.decode() for message in self.messages]

    @property
    def found(self) -> "list[str] | DecodedResponse":
        """The bodies of the messages if some were found, else the whole response."""
        return self.bodies if self.code == 0 else self

    @property
    def place(self) -> int:
        """The commit log offset of a sent message, taken from the id that the broker assigned."""
        return int(self["msgId"][-16:], 16)

    def __getitem__(self, field: str) -> str:
        """Return an ext field. Raises KeyError, which shows the whole response."""
        try:
            return self.fields[field]
        except KeyError:
            raise KeyError(f"the response has no {field}: {self}") from None


def json_of(body: bytes) -> Any:
    """Parse JSON text in upstream's dialect. Raises ValueError."""
    text = body.decode()
    try:
        return json.loads(text)
    except ValueError:
        text = _BARE_KEY.sub(r'"\1":', text)
        text = _OBJECT_KEY.sub(lambda found: "{" + json.dumps(found[1]) + ":", text)
        text = _NEXT_OBJECT_KEY.sub(lambda found: "," + json.dumps(found[1]) + ":", text)
        return json.loads(text)
