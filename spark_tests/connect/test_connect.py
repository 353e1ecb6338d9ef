"""A session of Spark Connect reads, writes and streams topics, as a classic session does.

These tests need the packages of `pyspark[connect]`, among them pandas. Each Python worker of Spark imports pandas if it
is installed, which takes most of a second. So the tests have an environment of their own (`scripts/environments.py`),
and are not collected without pandas.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from pyspark_rocketmq.session import worker_python
from rocketmq_testkit.fixtures import Emulator

PROGRAM = """
import json
import sys
import warnings

warnings.simplefilter("ignore")  # Spark warns about settings that a started server does not change

import pyspark_rocketmq
from pyspark.sql import SparkSession
from pyspark_rocketmq.testing import CONFIGURATION
from pyspark_rocketmq.session import class_archive

java = " ".join((CONFIGURATION["spark.driver.extraJavaOptions"], *class_archive.switches()))
builder = SparkSession.builder.remote("local[1]")
for name, value in {**CONFIGURATION, "spark.driver.extraJavaOptions": java}.items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
pyspark_rocketmq.register(spark)
options = {"nameServer": sys.argv[1]}

read = spark.read.format("rocketmq").options(topic="orders", **options).load().select("body", "properties")
rows = [bytes(row.body).decode() for row in read.collect()]
read.write.format("rocketmq").options(topic="copies", **options).mode("append").save()

spark.sql(f"CREATE TABLE orders USING rocketmq OPTIONS (topic 'orders', nameServer '{sys.argv[1]}')")
table = [row.text for row in spark.sql("SELECT CAST(body AS STRING) AS text FROM orders").collect()]

stream = spark.readStream.format("rocketmq").options(topic="orders", startingOffsets="earliest", **options).load()
target = stream.select("body").writeStream.format("rocketmq").options(topic="streamed", **options)
query = target.option("checkpointLocation", sys.argv[2]).trigger(availableNow=True).start()
ended = query.awaitTermination(120)
print(json.dumps({"session": type(spark).__module__, "rows": rows, "table": table, "ended": ended}))
spark.stop()
"""


def test_a_session_of_spark_connect_reads_writes_and_streams(tmp_path: Path) -> None:
    """A Connect session registers the data source, reads a topic and a table, and writes in a batch and a stream."""
    python = dict.fromkeys(worker_python.VARIABLES, sys.executable)
    with Emulator(topics=["orders:NORMAL:1", "copies:NORMAL:1", "streamed:NORMAL:1"]) as emulator:
        emulator.topic("orders").send(b"two teas", tag="hot")
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, emulator.namesrv, tmp_path / "checkpoint"],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**os.environ, **python},
        )
        assert done.returncode == 0, done.stderr
        said = json.loads(done.stdout.splitlines()[-1])
        copies = [(message.body, message.tag) for message in emulator.topic("copies").messages]
        streamed = [message.body for message in emulator.topic("streamed").messages]
    rows = ["two teas"]
    assert said == {"session": "pyspark.sql.connect.session", "rows": rows, "table": rows, "ended": True}
    assert copies == [(b"two teas", "hot")]
    assert streamed == [b"two teas"]
