"""The version of Apache RocketMQ that the emulator emulates."""

from rocketmq_testkit.emulator.client.client_versions import version_number
from rocketmq_testkit.emulator.kernel.upstream_version import VERSION_NAME, VERSION_NUMBER


def test_number_and_name_belong_to_the_same_version_of_upstream() -> None:
    assert version_number(VERSION_NAME) == VERSION_NUMBER
