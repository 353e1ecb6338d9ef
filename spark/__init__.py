"""The PySpark data source `format("rocketmq")`, for batches and streams, reading and writing, without any jar.

Spark imports every installed package named `pyspark_*` and registers its `DefaultSource`, so this module imports the
rest on demand. An editable installation has to call `register`. The source must not know the emulator.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from .sql.source import RocketMQDataSource as DefaultSource

__all__ = ["DefaultSource", "register"]


def register(spark: "SparkSession") -> None:
    """Register `format("rocketmq")` in a session that has not found it automatically."""
    import sys

    from .sql.registered import data_source

    spark.dataSource.register(data_source(sys.executable))


def __getattr__(name: str) -> Any:
    if name != "DefaultSource":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .sql.source import RocketMQDataSource

    return RocketMQDataSource
