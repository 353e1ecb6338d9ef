"""Tests of options: valid values, and errors for invalid ones."""

import pytest
from pyspark_rocketmq.errors import OptionError
from pyspark_rocketmq.options.offsets import MessageQueue
from pyspark_rocketmq.options.options import sink_options, source_options

NEEDED = {"nameServer": "127.0.0.1:9876", "topic": "orders"}


def test_option_names_are_case_insensitive_and_have_aliases() -> None:
    """Option names are case-insensitive, like Spark's; names of the old connector and of Kafka are aliases."""
    options = source_options({"nameserveraddr": "a:1;b:2", "SUBSCRIBE": "x, y,x", "pullwindow": " 4 "})

    assert (options.name_server, options.topics, options.pull_window) == (("a:1", "b:2"), ("x", "y"), 4)


def test_options_that_are_not_given_have_defaults() -> None:
    """Options that are not given have the defaults of the page."""
    options = source_options(NEEDED)

    assert options.fail_on_data_loss
    assert (options.pull_batch_size, options.pull_timeout_ms, options.pull_window) == (32, 3000, None)
    assert (options.sub_expression, options.expression_type, options.starting_offsets) == ("*", "TAG", None)


def test_offsets_in_the_json_of_the_old_connector_are_accepted() -> None:
    """Offsets in the old connector's JSON, by topic, broker and queue with -2 and -1, are accepted."""
    options = source_options({**NEEDED, "startingOffsets": '{"orders":{"broker-a":{"0":5,"1":-2,"2":-1}}}'})

    assert options.starting_offsets == {
        MessageQueue("orders", "broker-a", 0): 5,
        MessageQueue("orders", "broker-a", 1): -2,
        MessageQueue("orders", "broker-a", 2): -1,
    }


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"topic": "t"}, "nameServer: missing; a read needs host:port.*; use nameServer=127.0.0.1:9876"),
        (
            {**NEEDED, "nameServer": "localhost"},
            "nameServer=localhost: expected host:port.*'localhost' is no host:port",
        ),
        ({**NEEDED, "nameServer": "h:99999"}, "is no host:port"),
        ({"nameServer": "h:1"}, "topic: missing; a read has one of topic, topics, topicsPattern and assign"),
        ({**NEEDED, "topics": "a,b"}, "topic, topics: more than one is given"),
        ({**NEEDED, "pulWindow": "3"}, "pulWindow=3: a read has no such option; did you mean pullWindow"),
        ({**NEEDED, "zzzzzz": "3"}, "zzzzzz=3: a read has no such option; there are accessKey"),
        ({**NEEDED, "nameserverAddr": "h:1"}, "nameServer, nameserverAddr: names of the same option"),
        (
            {**NEEDED, "pullWindow": "0"},
            "pullWindow=0: expected a whole number from 1 to 256; leave it out for the default",
        ),
        ({**NEEDED, "pullWindow": "many"}, "pullWindow=many: expected"),
        ({**NEEDED, "pullwindow": "many"}, "pullWindow=many: expected"),
        ({"nameserveraddr": "h", "topic": "t"}, "nameserverAddr=h: expected"),
        (
            {**NEEDED, "failOnDataLoss": "maybe"},
            "failOnDataLoss=maybe: expected true or false; use failOnDataLoss=true, the default",
        ),
        ({**NEEDED, "expressionType": "XPATH"}, "expressionType=XPATH: expected TAG or SQL92; use expressionType=TAG"),
        ({**NEEDED, "startingOffsets": "soon"}, "startingOffsets=soon: expected earliest, latest, group or"),
        ({**NEEDED, "startingOffsets": '{"orders":{"b":{"0":-3}}}'}, "queue 0 of topic orders on b: -3 is no offset"),
        ({**NEEDED, "startingOffsets": '{"orders":{"b":[1]}}'}, "queues of orders on b are .1., not an object"),
        ({**NEEDED, "startingOffsets": '{"orders":{"b":{"x":1}}}'}, "'x' is no queue id"),
        ({**NEEDED, "startingOffsets": "{"}, "no JSON"),
        ({**NEEDED, "startingOffsets": '{"orders":' * 50_000}, "nested too deeply"),
        ({**NEEDED, "startingOffsets": '{"other":{"b":{"0":1}}}'}, "startingOffsets: topic other is not read"),
        ({**NEEDED, "startingOffsets": "group"}, "startingOffsets=group: no group is named"),
        ({**NEEDED, "commitOffsetsToBroker": "true"}, "commitOffsetsToBroker=true: no group is named"),
        ({**NEEDED, "minPartitions": "4", "maxPartitions": "2"}, "minPartitions=4: more than maxPartitions=2"),
        ({**NEEDED, "accessKey": "me"}, "accessKey: given without secretKey"),
        ({**NEEDED, "tlsCaFile": "/ca.pem"}, "tlsCaFile=/ca.pem: no effect without TLS"),
        (
            {**NEEDED, "startingTimestamp": "9", "endingTimestamp": "8"},
            "startingTimestamp=9: after endingTimestamp=8",
        ),
        (
            {
                **NEEDED,
                "startingOffsets": '{"orders":{"b":{"0":7,"1":3}}}',
                "endingOffsets": '{"orders":{"b":{"0":5,"1":9}}}',
            },
            "startingOffsets: queue 0 of topic orders on b starts at 7, after its end at 5",
        ),
        (
            {**NEEDED, "startingOffsetsByTimestamp": '{"orders":9}', "endingOffsetsByTimestamp": '{"orders":8}'},
            "startingOffsetsByTimestamp: topic orders starts at 9, after its end at 8",
        ),
        ({**NEEDED, "consumerGroup": "a b"}, "consumerGroup=a b: expected at most 255 letters, digits"),
        (
            {**NEEDED, "columns": "body string,, tags string"},
            "columns=body string,, tags string: expected columns with types",
        ),
        ({"nameServer": "h:1", "topicsPattern": "("}, "topicsPattern=.: expected a regular expression"),
        ({"nameServer": "h:1", "assign": '{"t":{"b":0}}'}, "queues of t on b are 0, not a list of numbers"),
    ],
)
def test_an_invalid_option_of_a_read_is_refused_with_the_allowed_values(given: dict[str, str], said: str) -> None:
    """An invalid option of a read is rejected with its name and the allowed values."""
    with pytest.raises(OptionError, match=said):
        source_options(given)


def test_column_types_are_accepted_in_any_case_and_by_aliases() -> None:
    options = source_options({**NEEDED, "columns": " body STRING,properties  Map<String, String> , queueOffset long"})

    assert options.columns == (("body", "string"), ("properties", "map<string,string>"), ("queueOffset", "bigint"))


def test_an_error_about_a_secret_does_not_show_its_value() -> None:
    with pytest.raises(OptionError, match=r"secretKey=\*\*\*: expected a text"):
        source_options({**NEEDED, "accessKey": "me", "secretKey": " "})


def test_contradictions_in_overridden_options_are_ignored() -> None:
    """Contradictions in options that another one overrides are ignored, and symbolic offsets are not compared."""
    backwards = {
        "startingOffsets": '{"orders":{"b":{"0":7,"1":7,"2":-1}}}',
        "endingOffsets": '{"orders":{"b":{"0":5,"1":-1,"2":3}}}',
    }
    words = {name: text.replace('"0":7,', "").replace('"0":5,', "") for name, text in backwards.items()}

    assert source_options({**NEEDED, **backwards, "startingTimestamp": "9"}).starting_timestamp == 9
    assert source_options({**NEEDED, **words}).starting_offsets == {
        MessageQueue("orders", "b", 1): 7,
        MessageQueue("orders", "b", 2): -1,
    }


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"startingOffsets": "latest"}, "startingOffsets=latest: leaves a batch with nothing to read"),
        ({"startingOffsets": '{"orders":{"b":{"0":-1}}}'}, "a batch cannot start at -1"),
        ({"endingOffsets": '{"orders":{"b":{"0":-2}}}'}, "a batch cannot end at -2"),
        ({"maxOffsetsPerTrigger": "5"}, "maxOffsetsPerTrigger=5: for streams alone"),
    ],
)
def test_an_option_of_streams_is_refused_in_a_batch(given: dict[str, str], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        source_options({**NEEDED, **given}).of_batch()


@pytest.mark.parametrize(
    "given",
    [{"endingOffsets": "latest"}, {"endingTimestamp": "5"}, {"endingOffsetsByTimestamp": '{"orders":5}'}],
)
def test_an_ending_position_is_refused_in_a_stream(given: dict[str, str]) -> None:
    """A stream does not end at a position."""
    with pytest.raises(OptionError, match="for batches alone"):
        source_options({**NEEDED, **given}).of_stream()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "nameServer: missing; a write needs"),
        ({**NEEDED, "pullWindow": "3"}, "pullWindow=3: a write has no such option; did you mean sendWindow"),
        (
            {**NEEDED, "deliveryGuarantee": "exactly-once"},
            "deliveryGuarantee=exactly-once: expected at-least-once or transactional",
        ),
        ({**NEEDED, "deliveryGuarantee": "transactional"}, "deliveryGuarantee=transactional: no txnLogPath is given"),
        ({**NEEDED, "producerGroup": "a:b"}, "producerGroup=a:b: expected at most 255 letters, digits"),
        ({**NEEDED, "txnLogPath": "/x"}, "txnLogPath=/x: no effect with deliveryGuarantee=at-least-once"),
        (
            {**NEEDED, "deliveryGuarantee": "transactional", "txnLogPath": "/x", "sendBatchSize": "2"},
            "sendBatchSize=2: half messages are not sent in batches",
        ),
    ],
)
def test_an_invalid_option_of_a_write_is_refused_with_the_allowed_values(given: dict[str, str], said: str) -> None:
    """An invalid option of a write is rejected with its name and the allowed values."""
    with pytest.raises(OptionError, match=said):
        sink_options(given)
