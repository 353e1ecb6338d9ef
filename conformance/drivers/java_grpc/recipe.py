"""Recipes by which the driver of the Java gRPC SDK is built and started: one source for two versions of the SDK."""

from functools import partial
from pathlib import Path

from ..toolchains.java_build import COMMON, JAVA_TOOLS, archive_driver, build_driver, java_words
from ..toolchains.recipe import Launch, Recipe

_FIRST_RUN = (
    {"do": "hello"},
    {"do": "producer", "as": "p", "topics": ["orders"], "group": "shop"},
    {"do": "send", "on": "p", "topic": "orders", "body": "Zmlyc3Q=", "tag": "a", "keys": ["k"], "props": {"x": "1"}},
    {"do": "simple", "as": "s", "group": "billing", "sub": {"orders": {"expr": "*", "type": "TAG"}}, "await_ms": 100},
    {"do": "receive", "on": "s", "max": 1, "invisible_ms": 10_000},
    {"do": "ack", "on": "s", "h": 1},
    {"do": "send", "on": "p", "topic": "orders", "body": "c2Vjb25k"},
    {"do": "push", "as": "c", "group": "billing", "sub": {"orders": {"expr": "*", "type": "TAG"}}, "mode": "concurrent"}
    | {"from": "first"},
)
"""Commands that most programs use; the classes that they load go into the class data archive."""


def _words(launch: Launch) -> list[str]:
    logs = f"rocketmq.log.root={launch.home}/logs"
    return java_words(launch, "testkit.driver.grpc.Main", logs, "rocketmq.log.level=warn")


def _recipe(name: str, version: str) -> Recipe:
    return Recipe(
        name=name,
        language="java",
        protocol="grpc",
        package="org.apache.rocketmq:rocketmq-client-java",
        version=version,
        folder=Path(__file__).parent,
        build=partial(build_driver, version=version),
        command=_words,
        tools=JAVA_TOOLS,
        shared=(COMMON,),
        finish_in_place=partial(archive_driver, words=_words, commands=_FIRST_RUN, address="endpoint"),
    )


RECIPE = _recipe("java-grpc", "5.2.0")
RECIPE_OLD = _recipe("java-grpc-5.0", "5.0.2")
