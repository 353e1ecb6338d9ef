"""The list of request codes that real brokers serve and nothing here is compared with."""

from collections import Counter
from pathlib import Path

from rocketmq_testkit.conformance.unserved import UNCOMPARED, UNSERVED, rows
from rocketmq_testkit.remoting.request.broker_requests import PUSHED
from rocketmq_testkit.remoting.request.request_code import HANDLED_ELSEWHERE, RequestCode
from rocketmq_testkit.remoting.request_code_page import served_codes

PAGE = Path(__file__).parents[2] / "docs" / "conformance.md"


def test_every_code_that_is_not_served_has_its_reason() -> None:
    """Every request code that is not served is listed once with its reason; served codes are not listed."""
    listed = Counter(code for codes in UNSERVED for code in codes)
    here = served_codes().keys() | set(PUSHED.values()) | HANDLED_ELSEWHERE
    assert sorted(listed.elements()) == sorted(code for code in RequestCode if code not in here)


def test_reasons_are_sentences() -> None:
    """Every reason is a sentence that fits into a table."""
    for reason in (*UNSERVED.values(), *UNCOMPARED.values()):
        assert len(reason) > 25, reason
        assert "|" not in reason
        assert "\n" not in reason


def test_the_page_has_the_list() -> None:
    """docs/conformance.md contains the list; `make pages` changes nothing."""
    assert "\n".join(rows()) in PAGE.read_text()
