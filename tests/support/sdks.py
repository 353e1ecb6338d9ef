"""The SDKs used by tests, grouped by their features. Names are those of `--sdk`, in the order of reports."""

from rocketmq_testkit.conformance.drivers.registry import RECIPES

ALL = tuple(each.name for each in RECIPES)
PUSH = tuple(name for name in ALL if name != "rust")
"""SDKs with push consumers."""
GRPC_PUSH = tuple(each.name for each in RECIPES if each.name in PUSH and each.protocol == "grpc")
JAVA_REMOTING = tuple(each.name for each in RECIPES if (each.language, each.protocol) == ("java", "remoting"))
