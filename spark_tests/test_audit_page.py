"""The page of an audit, rendered from sums without Spark."""

import re

from pyspark_rocketmq.audit.page import page
from pyspark_rocketmq.audit.rules import FAILURES, VERDICTS
from pyspark_rocketmq.audit.summary import AuditFinding, Moment, Summary, SummaryLine

ODD = """<b>"odd"</b> & 'odd' {{ 7 * 7 }}"""
START_US = 1_767_225_600_000_000


def line(topic: str, messages: int, key: str | None, failures: int) -> SummaryLine:
    """Return the sums of a topic and group with `failures` of the first kind."""
    counts = dict.fromkeys(VERDICTS, 0) | {FAILURES[0]: failures}
    return SummaryLine(
        topic,
        "warehouse",
        key,
        messages,
        deliveries=messages,
        verdicts=counts,
        latencies_us=[1500, 2_500_000, 7_200_000_000],
    )


def summary(topic: str) -> Summary:
    """Return sums with the topic in every place that shows one."""
    failure = FAILURES[0]
    return Summary(
        events=2000,
        skipped=0,
        topics={topic: {"stored": 1234}},
        lines=[line(topic, 1234, None, 3)],
        keys=[line(topic, 5, topic, 1)],
        moments=[Moment(START_US, 4, 2, 1), Moment(START_US + 1_000_000, 0, 2, 0)],
        width_us=1_000_000,
        delays={3: 1, 5: 4},
        findings=[
            AuditFinding(
                "run",
                topic,
                "warehouse",
                None,
                message_id=topic,
                verdicts=[failure],
                deliveries=1,
                acks=0,
                visible_us=START_US,
                first_us=None,
            )
        ],
    )


def test_every_text_is_escaped() -> None:
    """A text with markup is shown as it is, wherever it comes from; no element of its own results."""
    odd, plain = (re.findall(r"<(/?\w+)", page(summary(topic), [topic])) for topic in (ODD, "plain"))
    assert odd == plain
    assert "{{ 7 * 7 }}" in page(summary(ODD), [ODD])


def test_numbers_are_grouped_and_failures_marked() -> None:
    """Numbers have separators of thousands, 0 is left out, and the number of a failure is marked."""
    text = page(summary("orders"), ["journal.jsonl"])
    assert '<td class="number">1,234</td>' in text
    assert '<td class="number bad">3</td>' in text
    assert '<td class="number">0</td>' not in text


def test_plots_show_shares_times_and_latencies() -> None:
    """One plot each shows the verdicts, the messages over time, and the latencies; the highest bar fills the plot."""
    plots = re.findall(r"<svg.*?</svg>", page(summary("orders"), ["journal.jsonl"]), re.DOTALL)
    assert [re.findall(r'aria-label="([^"]*)"', plot)[0] for plot in plots] == [
        "orders for warehouse",
        "Messages over time",
        "Time from visible to first delivered",
    ]
    heights = [[float(height) for height in re.findall(r'height="([\d.]+)"/>', plot)] for plot in plots]
    assert heights == [[12.0], [168.0, 84.0, 42.0, 0.0, 84.0], [42.0, 0.0, 168.0]]
    assert "2026-01-01 00:00:00.000" in plots[1]


def test_audit_without_messages_has_a_page() -> None:
    """An empty journal gives a page with its sentence and empty tables."""
    text = page(Summary(0, 0, {}, [], keys=[], moments=[], width_us=1, delays={}, findings=[]), ["journal.jsonl"])
    assert "no problems" in text
    assert "<svg" not in text
