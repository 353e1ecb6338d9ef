"""The data source that `register` gives to a session, pickled by value so that a worker can report a missing package.

Spark unpickles the class in a worker whose interpreter may differ from the program's. A class pickled by reference
fails there before any of its code runs, with a traceback that names neither interpreter.
"""

import sys
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


def data_source(program: str) -> type[DataSource]:
    """Create the class for sessions of a program that runs with the interpreter `program`."""

    class RegisteredSource(DataSource):
        """Loads the data source on demand, and delegates to it."""

        def __init__(self, options: dict[str, str]) -> None:
            super().__init__(options)
            try:
                from pyspark_rocketmq.sql.source import RocketMQDataSource
            except ModuleNotFoundError as error:
                raise ModuleNotFoundError(
                    f"Spark started this Python worker with {sys.executable}, where {error.name} is not installed, but "
                    f"the program runs with {program}; set PYSPARK_PYTHON={program} in the environment before the "
                    "session starts, or --conf spark.pyspark.python for spark-submit",
                    name=error.name,
                ) from None
            self._source = RocketMQDataSource(options)

        @classmethod
        def name(cls) -> str:
            return "rocketmq"

        def schema(self) -> "str | StructType":
            return self._source.schema()

        def reader(self, schema: "StructType") -> Any:
            return self._source.reader(schema)

        def streamReader(self, schema: "StructType") -> Any:
            return self._source.streamReader(schema)

        def writer(self, schema: "StructType", overwrite: bool) -> Any:
            return self._source.writer(schema, overwrite)

        def streamWriter(self, schema: "StructType", overwrite: bool) -> Any:
            return self._source.streamWriter(schema, overwrite)

    return RegisteredSource
