"""The pytest plugin: fixtures `spark_rocketmq`, `spark_rocketmq_session` and `spark_rocketmq_configuration`.

Every pytest run imports this module if the package is installed; Spark is imported only when a fixture is used.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from rocketmq_testkit.fixtures import Emulator

    from .testing import SparkRocketMQ


@pytest.fixture(scope="session")
def spark_rocketmq_configuration() -> Mapping[str, str]:
    """Spark configuration in addition to the defaults for fast tests: override it in a conftest."""
    return {}


@pytest.fixture(scope="session")
def spark_rocketmq_session(
    spark_rocketmq_configuration: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory
) -> "Iterator[SparkSession]":
    """One Spark session with two threads for the whole run, because it takes seconds to start."""
    from .testing import start_session

    # Otherwise Spark would create a folder for tables in the working directory.
    folder = tmp_path_factory.mktemp("spark-warehouse")
    spark = start_session({"spark.sql.warehouse.dir": str(folder), **spark_rocketmq_configuration})
    yield spark
    spark.stop()


@pytest.fixture
def spark_rocketmq(
    spark_rocketmq_session: "SparkSession", rocketmq: "Emulator", tmp_path: Path
) -> "Iterator[SparkRocketMQ]":
    """The session, a new emulator and a folder for checkpoints; queries that still run are stopped after the test."""
    from .testing import SparkRocketMQ

    yield SparkRocketMQ(spark_rocketmq_session, rocketmq, tmp_path)
    for query in spark_rocketmq_session.streams.active:
        query.stop()
