"""The configuration of each node is listed with secrets masked."""

from engine_harness import EngineHarness
from inspected import look


def test_keys_of_brokers_name_server_and_emulator_are_listed(harness: EngineHarness) -> None:
    found = look(harness).configuration()
    assert {view.node for view in found} == {"broker-a", "namesrv", "emulation"}
    values = {(view.node, view.key): view.value for view in found}
    assert values["broker-a", "brokerName"] == "broker-a"
    assert ("emulation", "journalMaxEntries") in values
    assert look(harness).configuration("namesrv") == [view for view in found if view.node == "namesrv"] != []


def test_secrets_are_masked(harness: EngineHarness) -> None:
    harness.broker.config.inner_client_authentication_credentials = '{"accessKey":"a","secretKey":"hidden"}'
    text = "".join(view.value for view in look(harness).configuration())
    assert "hidden" not in text
    assert "***" in text
