"""The data source that `register` hands to a session: pickled by value, so that a worker can say what it lacks.

Spark unpickles the class in a worker whose interpreter may be another one than the program's. A class that is pickled
by reference fails there before any code of it runs, with a traceback that names neither interpreter.
"""

import sys
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


def data_source(program: str) -> type[DataSource]:
    """The class for sessions of a program that runs with the interpreter `program`."""

    class RegisteredSource(DataSource):
        """Loads the data source where it is needed, and passes everything on to it."""

        def __init__(self, options: dict[str, str]) -> None:
            super().__init__(options)
            try:
                from pyspark_rocketmq.source import RocketMQDataSource
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
