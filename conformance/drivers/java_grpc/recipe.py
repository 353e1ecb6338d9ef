"""Recipes of the Java gRPC SDK: one source for two versions."""

from functools import partial
from pathlib import Path

from ..java_build import COMMON, JAVA_TOOLS, build_driver, java_words
from ..recipe import Launch, Recipe


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
    )


RECIPE = _recipe("java-grpc", "5.2.0")
RECIPE_OLD = _recipe("java-grpc-5.0", "5.0.2")
