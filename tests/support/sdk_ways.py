"""Which ways to consume each SDK has. A driver that loses one, or an SDK without a row, fails a test."""

from rocketmq_testkit.conformance.actors import Style

WAYS: dict[str, tuple[Style, ...]] = {
    "java-grpc": ("simple", "concurrent", "orderly"),
    "java-grpc-5.0": ("simple", "concurrent", "orderly"),
    "java-remoting": ("concurrent", "orderly", "broadcast", "pop", "lite"),
    "java-remoting-4.9": ("concurrent", "orderly", "broadcast", "lite"),
    "go-remoting": ("concurrent", "orderly", "broadcast", "lite"),
    "go-grpc": ("simple", "concurrent", "orderly"),
    "python": ("simple", "concurrent", "orderly"),
    "node": ("simple", "concurrent", "orderly"),
    "rust": ("simple",),
    "cpp": ("concurrent", "orderly", "broadcast"),
}
