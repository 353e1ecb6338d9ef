"""The SDKs that tests go through, by what they have: names as `--sdk` has them, in the order of reports."""

from rocketmq_testkit.conformance.drivers.registry import RECIPES

ALL = tuple(each.name for each in RECIPES)
PUSH = tuple(name for name in ALL if name != "rust")
"""Those that have push consumers."""
GRPC_PUSH = tuple(each.name for each in RECIPES if each.name in PUSH and each.protocol == "grpc")
JAVA_REMOTING = tuple(each.name for each in RECIPES if (each.language, each.protocol) == ("java", "remoting"))
