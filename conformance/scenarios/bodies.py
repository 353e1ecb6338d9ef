"""Message bodies that are small, large, or not text."""

import hashlib

from ..drivers.process import body
from ..scenario import scenario
from ..sdk.scenario_context import ScenarioContext

LARGE = 4 * 1024 * 1024 - 4096
"""Just below the body size limit, 4 MiB, with room for properties."""


def _arrives(s: ScenarioContext, content: bytes) -> None:
    topic, group = s.pair(s.fastest_style)
    producer = s.producer(topic)
    consumer = s.consumer(group, topic)
    producer.send(topic, content)
    [message] = s.wait_for(1, consumer)
    came = body(message)
    s.note("length", len(came))
    s.note("as sent", came == content)


@scenario("SendMessageProcessor.sendMessage", verbs={"send"})
def a_body_of_one_byte_arrives(s: ScenarioContext) -> None:
    """A body of one byte arrives."""
    _arrives(s, b"x")


@scenario("SendMessageProcessor.sendMessage", verbs={"send"})
def a_body_of_all_byte_values_arrives_unchanged(s: ScenarioContext) -> None:
    """A body of zeros and of every other byte value arrives unchanged."""
    _arrives(s, bytes(16) + bytes(range(256)) + bytes(16))


@scenario("SendMessageProcessor.sendMessage", verbs={"send"})
def a_body_of_multibyte_utf8_text_arrives_unchanged(s: ScenarioContext) -> None:
    """Text with characters of two, three and four bytes arrives unchanged."""
    _arrives(s, "grün ☕ 消息 🚀".encode())


@scenario(
    "DefaultMessageStore.putMessage", verbs={"send"}, without={"cpp": "it cannot send bodies of more than 128 KiB"}
)
def a_body_of_almost_4_mib_arrives_unchanged(s: ScenarioContext) -> None:
    """A body of almost 4 MiB that does not compress well arrives unchanged."""
    block = hashlib.sha512(b"body").hexdigest().encode()
    parts = []
    for _ in range(LARGE // len(block)):
        block = hashlib.sha512(block).hexdigest().encode()
        parts.append(block)
    _arrives(s, b"".join(parts))


@scenario("DefaultMQProducerImpl.tryToCompressMessage", verbs={"send"})
def a_compressible_body_of_100_kb_arrives_unchanged(s: ScenarioContext) -> None:
    """A body that a remoting SDK compresses arrives unchanged."""
    _arrives(s, b"a" * 100_000)
