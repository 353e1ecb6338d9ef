"""The generated page of request codes is current, and the codes that SDKs send are served."""

from pathlib import Path

from rocketmq_testkit.remoting.request.request_code import RequestCode
from rocketmq_testkit.remoting.request_code_page import page, served_codes

PAGE = Path(__file__).parents[2] / "docs" / "request-codes.md"


def test_the_request_code_page_is_current() -> None:
    """docs/request-codes.md equals the output of `python -m rocketmq_testkit.remoting.request_code_page`."""
    assert PAGE.read_text() == page()


def test_the_request_code_page_has_one_row_per_code() -> None:
    """The page has one row per request code, with its name."""
    rows = [line.split(" | ")[:2] for line in page().splitlines() if line.startswith("| ") and line[2].isdigit()]
    assert rows == [[f"| {code:d}", code.name] for code in sorted(RequestCode)]


def test_the_codes_that_every_sdk_sends_are_served() -> None:
    """The codes that every SDK sends to produce and to consume are served."""
    needed = {
        "SEND_MESSAGE",
        "SEND_MESSAGE_V2",
        "SEND_BATCH_MESSAGE",
        "PULL_MESSAGE",
        "LITE_PULL_MESSAGE",
        "QUERY_CONSUMER_OFFSET",
        "UPDATE_CONSUMER_OFFSET",
        "HEART_BEAT",
        "UNREGISTER_CLIENT",
        "GET_CONSUMER_LIST_BY_GROUP",
        "LOCK_BATCH_MQ",
        "UNLOCK_BATCH_MQ",
        "GET_ROUTEINFO_BY_TOPIC",
        "POP_MESSAGE",
        "ACK_MESSAGE",
        "CHANGE_MESSAGE_INVISIBLETIME",
        "QUERY_ASSIGNMENT",
    }
    assert needed <= {each.label for each in served_codes().values()}
