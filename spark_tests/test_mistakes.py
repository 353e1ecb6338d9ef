"""Mistakes of users of the Spark connector and the exact sentences that answer them, without a session.

`mistakes.txt` is the transcript.
"""

from pathlib import Path

import pytest
from mistakes import Mistake, mistakes
from pyspark.sql.types import (
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)
from pyspark_rocketmq.errors import OptionError, SchemaError
from pyspark_rocketmq.sql.source import RocketMQDataSource

TRANSCRIPT = Path(__file__).with_name("mistakes.txt")
TYPES: dict[str, DataType] = {
    "binary": BinaryType(),
    "string": StringType(),
    "int": IntegerType(),
    "bigint": LongType(),
}


def source(options: dict[str, object]) -> RocketMQDataSource:
    """The data source with options as Spark hands them over: texts, by names in lower case."""
    given = {"nameServer": "127.0.0.1:9876", "topic": "orders", **options}
    texts = {
        name.lower(): str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in given.items()
        if value is not None
    }
    return RocketMQDataSource(texts)


def schema(columns: str) -> StructType:
    """The schema of columns such as `body binary, tags string`; Spark's own parser needs a session."""
    pairs = (column.split() for column in columns.split(","))
    return StructType([StructField(name, TYPES[kind]) for name, kind in pairs])


def read(columns: str = "body binary", **options: object) -> None:
    """`spark.read.format("rocketmq").schema(columns).options(**options).load()`."""
    source(options).reader(schema(columns))


def stream(columns: str = "body binary", **options: object) -> None:
    """`spark.readStream`, as `read`."""
    source(options).streamReader(schema(columns))


def write(columns: str = "body binary", *, overwrite: bool = False, **options: object) -> None:
    """`frame.write.format("rocketmq").options(**options).mode(...).save()` of a frame with such columns."""
    source(options).writer(schema(columns), overwrite)


def write_stream(columns: str = "body binary", **options: object) -> None:
    """`frame.writeStream`, as `write`."""
    source(options).streamWriter(schema(columns), False)


@pytest.mark.parametrize("mistake", mistakes(TRANSCRIPT, ">>> "), ids=str)
def test_a_wrong_option_raises_the_text_of_the_transcript(mistake: Mistake) -> None:
    """The error is raised before anything is read or sent."""
    calls = {each.__name__: each for each in (read, stream, write, write_stream)}
    with pytest.raises((OptionError, SchemaError)) as found:
        eval(mistake.typed, calls)
    assert str(found.value) == mistake.sentence
