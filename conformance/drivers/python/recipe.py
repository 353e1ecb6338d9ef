"""Recipe by which the driver of the Python gRPC SDK is built and started."""

from functools import partial
from pathlib import Path

from ..toolchains.python_build import COMMON, INTERPRETER, build_driver, environment, words
from ..toolchains.recipe import Recipe

RECIPE = Recipe(
    name="python",
    language="python",
    protocol="grpc",
    package="rocketmq-python-client",
    version="5.1.2",
    folder=Path(__file__).parent,
    build=build_driver,
    command=partial(words, name="python"),
    environment=environment,
    shared=(COMMON,),
    other_inputs=INTERPRETER,
)
