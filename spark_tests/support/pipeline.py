"""A pipeline from topic to topic as a separate program, so that a test can kill it: `pipeline.py OPTIONS_AS_JSON`.

It ends when no messages are left. Options: `nameServer`, `checkpoint`, `source`, `sink` (options of the write).
"""

import json
import sys

from pyspark_rocketmq.testing import start_session


def main() -> None:
    """Copy all messages of `orders` to `copies`, a few at a time."""
    options = json.loads(sys.argv[1])
    spark = start_session({"spark.driver.memory": "512m"})
    stream = (
        spark.readStream.format("rocketmq")
        .option("nameServer", options["nameServer"])
        .option("topic", "orders")
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", options["limit"])
        .load()
        .select("body")
    )
    query = (
        stream.writeStream.format("rocketmq")
        .option("nameServer", options["nameServer"])
        .option("topic", "copies")
        .options(**options["sink"])
        .option("checkpointLocation", options["checkpoint"])
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


if __name__ == "__main__":
    main()
