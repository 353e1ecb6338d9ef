"""A session of Spark Connect reads and writes topics, as a classic session does."""

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
print(json.dumps({"session": type(spark).__module__, "rows": rows}))
spark.stop()
"""


def test_a_session_of_spark_connect_reads_and_writes(tmp_path: Path) -> None:
    """A Connect session registers the data source, reads a topic, and writes the rows to another topic."""
    python = dict.fromkeys(worker_python.VARIABLES, sys.executable)
    with Emulator(topics=["orders:NORMAL:1", "copies:NORMAL:1"]) as emulator:
        emulator.topic("orders").send(b"two teas", tag="hot")
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, emulator.namesrv],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**os.environ, **python},
        )
        assert done.returncode == 0, done.stderr
        said = json.loads(done.stdout.splitlines()[-1])
        copies = [(message.body, message.tag) for message in emulator.topic("copies").messages]
    assert said == {"session": "pyspark.sql.connect.session", "rows": ["two teas"]}
    assert copies == [(b"two teas", "hot")]
