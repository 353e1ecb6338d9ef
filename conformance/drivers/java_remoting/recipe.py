"""Recipes by which the driver of the Java remoting SDK is built and started: one source for two SDK versions."""

from functools import partial
from pathlib import Path

from ..toolchains.java_build import COMMON, JAVA_TOOLS, archive_driver, build_driver, java_words
from ..toolchains.recipe import Launch, Recipe

_FIRST_RUN = (
    {"do": "hello"},
    {"do": "producer", "as": "p", "topics": ["orders"], "group": "shop"},
    {"do": "send", "on": "p", "topic": "orders", "body": "Zmlyc3Q=", "tag": "a", "keys": ["k"], "props": {"x": "1"}},
    {"do": "push", "as": "c", "group": "billing", "sub": {"orders": {"expr": "*", "type": "TAG"}}, "mode": "concurrent"}
    | {"from": "first"},
)
"""Commands that most programs use; the classes that they load go into the class data archive."""


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
        finish_in_place=partial(archive_driver, words=_words, commands=_FIRST_RUN, address="namesrv"),
    )


RECIPE = _recipe("java-remoting", "5.3.3")
RECIPE_OLD = _recipe("java-remoting-4.9", "4.9.8")
