"""Rejected requests in the journal, which explain the failures of an unmodified SDK."""

import subprocess
import sys

from rocketmq_testkit.emulator.gate.journal_entry import JournalEntry
from rocketmq_testkit.emulator.gate.raw_request import RawRequest, Rejection
from rocketmq_testkit.fixtures import Emulator

_SEND = """
import sys
from rocketmq import ClientConfiguration, Credentials, Message, Producer

producer = Producer(ClientConfiguration(sys.argv[1], Credentials("shop", "wrong secret")), ["orders"])
try:
    producer.startup()
    message = Message()
    message.topic = "orders"
    message.body = b"two teas"
    producer.send(message)
except Exception as error:
    print(type(error).__name__)
"""
_PROVIDER = "org.apache.rocketmq.auth.authentication.provider.LocalAuthenticationMetadataProvider"


def _run(emulator: Emulator) -> str:
    """Run the producer in another process, because the SDK leaves threads behind."""
    command = [sys.executable, "-c", _SEND, emulator.endpoint]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout


def _refused(emulator: Emulator) -> list[tuple[str, str]]:
    def one(entry: JournalEntry) -> tuple[str, str]:
        assert isinstance(entry.outcome, Rejection)
        return entry.label, entry.outcome.name

    return [one(entry) for entry in emulator.journal.entries(lambda entry: entry.event == "refused")]


def test_a_route_query_with_a_wrong_key_is_journaled_as_unauthorized() -> None:
    """The route query of a producer with a wrong key is journaled as UNAUTHORIZED, with the user but no secret."""
    keys = {"authenticationEnabled": True, "authenticationMetadataProvider": _PROVIDER}
    with Emulator(topics=["orders"], config=keys) as emulator:
        emulator.user("shop", "right secret")
        assert _run(emulator).strip()
        assert ("QueryRoute", "UNAUTHORIZED") in _refused(emulator)
        subjects = [entry.subject for entry in emulator.journal.entries(lambda entry: entry.label == "QueryRoute")]
        assert all(isinstance(subject, RawRequest) for subject in subjects)
        assert "Credential=shop" in repr(subjects)
        assert not [secret for secret in ("right secret", "wrong secret") if secret in repr(list(emulator.journal))]


def test_sends_under_flow_control_are_journaled_as_too_many_requests() -> None:
    with Emulator(topics=["orders"], config={"grpcRequestRefusals": "producer"}) as emulator:
        assert _run(emulator).strip()
        assert ("SendMessage", "TOO_MANY_REQUESTS") in _refused(emulator)
        assert emulator.topic("orders").messages == []
