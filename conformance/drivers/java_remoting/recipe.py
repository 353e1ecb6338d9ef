"""Recipes of the Java remoting SDK: one source for two versions."""

from functools import partial
from pathlib import Path

from ..java_build import COMMON, JAVA_TOOLS, build_driver, java_words
from ..recipe import Launch, Recipe


def _words(launch: Launch) -> list[str]:
    # The log switches are those of 5.x and of 4.x.
    return java_words(
        launch,
        "testkit.driver.remoting.Main",
        f"rocketmq.log.root={launch.home}/logs",
        f"rocketmq.client.logRoot={launch.home}/logs",
        "rocketmq.client.logLevel=warn",
        f"rocketmq.client.localOffsetStoreDir={launch.home}/offsets",
    )


def _recipe(name: str, version: str) -> Recipe:
    return Recipe(
        name=name,
        language="java",
        protocol="remoting",
        package="org.apache.rocketmq:rocketmq-client",
        version=version,
        folder=Path(__file__).parent,
        build=partial(build_driver, version=version),
        command=_words,
        tools=JAVA_TOOLS,
        shared=(COMMON,),
    )


RECIPE = _recipe("java-remoting", "5.3.3")
RECIPE_OLD = _recipe("java-remoting-4.9", "4.9.8")
