"""Tests of SQL: tables of a catalog and temporary views, which keep the options of their creation."""

from collections.abc import Iterator

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql.types import StringType, StructField, StructType
from pyspark_rocketmq.errors import OptionError, RowError, SchemaError
from pyspark_rocketmq.sql import tables
from pyspark_rocketmq.testing import SparkRocketMQ

CREATED = {
    "provider": "rocketmq",
    "owner": "me",
    "nameserver": "127.0.0.1:1",
    "option.nameserver": "127.0.0.1:1",
    "option.topic": "orders",
    "topic": "orders",
}
"""Properties that Spark passes when a table is created: OPTIONS twice, TBLPROPERTIES and its own properties once."""


@pytest.fixture
def spark(spark_rocketmq: SparkRocketMQ) -> Iterator[SparkRocketMQ]:
    """A session with two topics of two queues; tables and views are dropped."""
    for topic in ("orders", "copies"):
        spark_rocketmq.emulator.topic(topic, queues=2)
    yield spark_rocketmq
    for table in spark_rocketmq.spark.catalog.listTables():
        kind = "VIEW" if table.isTemporary or table.tableType == "VIEW" else "TABLE"
        spark_rocketmq.spark.sql(f"DROP {kind} IF EXISTS {table.name}")


def create(spark: SparkRocketMQ, name: str, topic: str, more: str = "") -> None:
    """Create a table of a topic."""
    spark.spark.sql(
        f"CREATE TABLE {name} USING rocketmq OPTIONS (nameServer '{spark.emulator.namesrv}', topic '{topic}' {more})"
    )


def bodies(spark: SparkRocketMQ, topic: str) -> list[tuple[bytes, str | None]]:
    """Return bodies and tags of a topic's messages."""
    return sorted((message.body, message.tag) for message in spark.emulator.messages(topic))


def test_tables_are_read_and_filled_by_sql_and_by_writers(spark: SparkRocketMQ) -> None:
    """Tables with all or selected columns are read and filled by SQL and by DataFrame writers."""
    sql = spark.spark.sql
    spark.emulator.topic("orders").send(b"tea", tag="hot")
    create(spark, "orders", "orders")
    create(spark, "copies", "copies", ", columns 'body STRING, tags STRING, delayLevel INT', sendWindow '3'")

    assert [(row.body, row.topic) for row in sql("SELECT * FROM orders").collect()] == [(b"tea", "orders")]
    sql("INSERT INTO copies (body, tags) SELECT cast(body AS STRING), 'copied' FROM orders")
    sql("INSERT INTO copies BY NAME SELECT 'named' AS body")
    sql("SELECT 'frame' AS body").writeTo("copies").append()
    sql("SELECT 'saved' AS body").write.format("rocketmq").mode("append").saveAsTable("copies")
    sql("INSERT INTO orders BY NAME SELECT body, properties FROM orders")

    assert bodies(spark, "copies") == [(b"frame", None), (b"named", None), (b"saved", None), (b"tea", "copied")]
    assert bodies(spark, "orders") == [(b"tea", "hot"), (b"tea", "hot")]


def test_options_of_a_table_may_be_table_properties(spark: SparkRocketMQ) -> None:
    """Options may be TBLPROPERTIES; WITH adds options to a statement, and a stream reads with those of the table."""
    spark.emulator.topic("orders").send(b"tea")
    spark.spark.sql(
        "CREATE TABLE t USING rocketmq OPTIONS (columns 'body STRING') TBLPROPERTIES "
        f"(nameServer '{spark.emulator.namesrv}', topic 'orders', startingOffsets 'earliest', team 'tea')"
    )

    assert [row.body for row in spark.spark.sql("SELECT * FROM t WITH (pullBatchSize = 1)").collect()] == ["tea"]
    spark.spark.sql("INSERT INTO t WITH (topic = 'copies') (body) VALUES ('elsewhere')")
    assert [row.body for rows in spark.run(spark.spark.readStream.table("t")).values() for row in rows] == ["tea"]
    assert bodies(spark, "copies") == [(b"elsewhere", None)]


def test_a_temporary_view_is_read_and_filled(spark: SparkRocketMQ) -> None:
    """A temporary view is read and filled, also by position, because Spark passes its options to every statement."""
    spark.spark.sql(
        f"CREATE TEMPORARY VIEW v USING rocketmq OPTIONS (nameServer '{spark.emulator.namesrv}', topic 'orders', "
        "columns 'body STRING, tags STRING')"
    )

    spark.spark.sql("INSERT INTO v VALUES ('tea', 'hot')")

    assert [tuple(row) for row in spark.spark.sql("SELECT * FROM v").collect()] == [("tea", "hot")]


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("INSERT INTO copies SELECT * FROM orders", "name the other columns, as in INSERT INTO t"),
        (
            "INSERT INTO copies SELECT * FROM orders WHERE brokerName IS NOT NULL",
            "name the other columns, as in INSERT INTO t",
        ),
        ("CREATE TABLE third USING rocketmq AS SELECT * FROM orders", "create a table before filling it"),
        ("INSERT OVERWRITE copies BY NAME SELECT body FROM orders", "a topic cannot be overwritten"),
    ],
)
def test_rows_of_one_table_never_go_to_the_topic_of_another(spark: SparkRocketMQ, statement: str, said: str) -> None:
    """Rows copied between tables are rejected if they carry the default of the source table instead of the target's."""
    spark.emulator.topic("orders").send(b"tea")
    create(spark, "orders", "orders")
    create(spark, "copies", "copies")

    with pytest.raises(PySparkException, match=said):
        spark.spark.sql(statement)

    assert bodies(spark, "orders") == [(b"tea", None)]
    assert bodies(spark, "copies") == []


@pytest.mark.parametrize(
    ("values", "condition", "said"),
    [
        ("SELECT 'tea', 'hot'", "INSERT_COLUMN_ARITY_MISMATCH.NOT_ENOUGH_DATA_COLUMNS", "`brokerName`"),
        ("VALUES ('tea', 'hot')", "INSERT_COLUMN_ARITY_MISMATCH.NOT_ENOUGH_DATA_COLUMNS", "`brokerName`"),
        ("SELECT 'tea', 'hot', 'broker-a'", "PYTHON_EXCEPTION", "name the other columns, as in INSERT INTO t"),
        ("VALUES (DEFAULT, 'tea', 'hot')", "PYTHON_EXCEPTION", "name the other columns, as in INSERT INTO t"),
    ],
)
def test_a_positional_insert_needs_default_in_place_of_the_broker_name(
    spark: SparkRocketMQ, values: str, condition: str, said: str
) -> None:
    """Spark itself rejects a positional INSERT without brokerName, we one with a value; DEFAULT in its place works."""
    create(spark, "copies", "copies", ", columns 'body STRING, tags STRING'")

    with pytest.raises(PySparkException, match=said) as rejected:
        spark.spark.sql(f"INSERT INTO copies {values}")
    assert rejected.value.getCondition() == condition
    assert bodies(spark, "copies") == []
    spark.spark.sql("INSERT INTO copies VALUES ('tea', 'hot', DEFAULT)")

    assert bodies(spark, "copies") == [(b"tea", "hot")]


def test_a_stream_into_a_table_must_name_its_options(spark: SparkRocketMQ) -> None:
    """A stream into a table must name its options, since Spark passes none, and those of the source would be wrong."""
    spark.emulator.topic("orders").send(b"tea")
    create(spark, "orders", "orders", ", startingOffsets 'earliest'")
    create(spark, "copies", "copies")
    writer = spark.spark.readStream.table("orders").writeStream.option("checkpointLocation", spark.checkpoint())

    with pytest.raises(PySparkException, match="give them to writeStream"):
        writer.trigger(availableNow=True).toTable("copies").awaitTermination(60)
    query = writer.options(**spark.options(topic="copies")).trigger(availableNow=True).toTable("copies")

    assert query.awaitTermination(60)
    assert (bodies(spark, "orders"), bodies(spark, "copies")) == ([(b"tea", None)], [(b"tea", None)])


def test_a_table_with_declared_columns_has_no_options(spark: SparkRocketMQ) -> None:
    """A table with declared columns has no options, and the error says what to do instead."""
    spark.spark.sql(
        f"CREATE TABLE t (body STRING) USING rocketmq OPTIONS (nameServer '{spark.emulator.namesrv}', topic 'orders')"
    )

    with pytest.raises(PySparkException, match="only if CREATE TABLE names no columns: use its option columns"):
        spark.spark.sql("SELECT * FROM t").collect()


@pytest.mark.parametrize(
    ("properties", "error", "said"),
    [
        ({"option.topc": "orders"}, OptionError, "topc=orders: a table has no such option; did you mean topic"),
        ({"option.zzzzzzz": "1"}, OptionError, "zzzzzzz=1: a table has no such option; there are accessKey"),
        ({"option.sendwindow": "many"}, OptionError, "sendWindow=many: expected a whole number from 1 to 4096"),
        ({"option.pullwindow": "0"}, OptionError, "pullWindow=0: expected a whole number"),
        ({"secretkey": "s", "accesskey": "a"}, OptionError, "every user of the table could read it"),
        ({"option.columns": "body"}, OptionError, "columns=body: expected columns with types.*'body' is not a name"),
        ({"option.columns": "bdy string"}, SchemaError, "column bdy: a read has no such column; did you mean body"),
        ({"option.columns": "queueId bigint"}, SchemaError, "column queueId bigint: of the wrong type; it can be int"),
        (
            {"option.columns": "delayLevel string"},
            SchemaError,
            "column delayLevel string: a write cannot have this type",
        ),
        ({"option.columns": "body string", "option.includemetadata": "true"}, OptionError, "both are given"),
    ],
)
def test_an_invalid_option_is_refused_when_a_table_is_created(
    properties: dict[str, str], error: type[Exception], said: str
) -> None:
    """An invalid option or column is rejected when a table is created."""
    with pytest.raises(error, match=said):
        tables.schema_of({**CREATED, **properties})


def test_the_schema_of_a_table_returns_its_options() -> None:
    """The schema of a table returns its options unchanged; those of a statement take precedence."""
    filter_ = "a > 'x' AND b = '100 % & \\ ü=?'"
    schema = tables.schema_of({**CREATED, "option.subexpression": filter_, "option.sendwindow": "3", "team": "tea"})

    assert tables.with_options_of_read({"topic": "other"}, schema) == {
        "nameserver": "127.0.0.1:1",
        "topic": "other",
        "subexpression": filter_,
    }
    assert tables.TableWrite.found(schema) is None
    filled = StructType(
        [StructField(each.name, each.dataType, each.name != "brokerName", each.metadata) for each in schema]
    )
    write = tables.TableWrite.found(filled)
    assert write is not None
    assert write.options({"sendwindow": "4"}) == {"nameserver": "127.0.0.1:1", "topic": "orders", "sendwindow": "4"}


def test_rows_without_the_default_are_refused() -> None:
    """Rows without the default are rejected, an empty batch is accepted, and the column itself is not sent."""
    schema = tables.schema_of(CREATED)
    fields = [StructField(each.name, each.dataType, each.name != "brokerName", each.metadata) for each in schema]
    write = tables.TableWrite.found(StructType(fields))
    assert write is not None
    default = str(schema["brokerName"].metadata["CURRENT_DEFAULT"])[1:-1]

    def batch(*brokers: str | None) -> pa.RecordBatch:
        return pa.record_batch({"body": ["x"] * len(brokers), "brokerName": pa.array(brokers, pa.string())})

    kept = list(write.rows([batch(default, default), batch()]))

    assert [(each.schema.names, each.num_rows) for each in kept] == [(["body"], 2), (["body"], 0)]
    for wrong in ("broker-a", None):
        with pytest.raises(RowError, match="the rows have a brokerName; Spark gives a write no options"):
            list(write.rows([batch(default, wrong)]))


def test_schemas_without_the_default_contain_no_options() -> None:
    """A schema without the column, or with another default, contains no options."""
    other = StructField("brokerName", StringType(), False, {"CURRENT_DEFAULT": "'broker-a'"})

    for schema in (StructType([]), StructType([other])):
        assert not tables.holds_options(schema)
        assert tables.with_options_of_read({"topic": "t"}, schema) == {"topic": "t"}
        assert tables.TableWrite.found(schema) is None
