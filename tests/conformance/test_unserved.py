"""The list of request codes that real brokers serve and the emulator does not."""

from collections import Counter
from pathlib import Path

from rocketmq_testkit.conformance.outcomes.not_compared import NOT_COMPARED, UNSUPPORTED_CODES, rows
from rocketmq_testkit.remoting.processors.unserved import UnservedReason, codes_with
from rocketmq_testkit.remoting.request.broker_requests import CODE_OF_EFFECT
from rocketmq_testkit.remoting.request.request_code import RequestCode
from rocketmq_testkit.remoting.request_code_page import served_codes

PAGE = Path(__file__).parents[2] / "docs" / "conformance.md"


def test_every_request_code_that_is_not_served_is_listed_once_with_a_reason() -> None:
    """Every request code that is not served is listed once with its reason; served codes are not listed."""
    listed = Counter(code for codes in UNSUPPORTED_CODES for code in codes)
    elsewhere = codes_with(UnservedReason.NO_HANDLER, UnservedReason.OTHER_PROGRAM)
    here = {*served_codes(), *CODE_OF_EFFECT.values(), *elsewhere}
    assert sorted(listed.elements()) == sorted(code for code in RequestCode if code not in here)


def test_reasons_are_sentences() -> None:
    """Every reason is a sentence that fits into a table."""
    for reason in (*UNSUPPORTED_CODES.values(), *NOT_COMPARED.values()):
        assert len(reason) > 25, reason
        assert "|" not in reason
        assert "\n" not in reason


def test_the_conformance_page_has_the_list_of_unserved_codes() -> None:
    """docs/conformance.md contains the list; `make pages` changes nothing."""
    assert "\n".join(rows()) in PAGE.read_text()
