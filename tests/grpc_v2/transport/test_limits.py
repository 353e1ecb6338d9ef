"""Default limits of a connection: those whose values have a reason outside of this project."""

from rocketmq_testkit.grpc_v2.transport import Limits


def test_the_largest_message_is_130_mib_as_in_upstream() -> None:
    """The maximum message is 130 MiB (grpcMaxInboundMessageSize of the proxy, 5.3.3)."""
    assert Limits().max_message_bytes == 136_314_880


def test_windows_have_room_for_usual_messages() -> None:
    """A stream's window holds a message of 4 MiB, upstream's largest, and the connection's holds several streams'."""
    limits = Limits()
    assert limits.stream_window_bytes == 8_388_608
    assert limits.connection_window_bytes == 67_108_864
    assert limits.max_header_list_bytes == 65_536
