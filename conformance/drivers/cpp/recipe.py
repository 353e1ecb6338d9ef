"""Recipe by which the driver of the C++ remoting SDK is built and started.

The SDK is published as a binary inside a Python wheel.
"""

from functools import partial
from pathlib import Path

from ..toolchains.python_build import COMMON, INTERPRETER, build_driver, environment, words
from ..toolchains.recipe import Recipe

RECIPE = Recipe(
    name="cpp",
    language="c++",
    protocol="remoting",
    package="rocketmq (PyPI)",
    version="0.4.4",
    folder=Path(__file__).parent,
    build=build_driver,
    command=partial(words, name="cpp"),
    environment=environment,
    shared=(COMMON,),
    other_inputs=INTERPRETER,
)
