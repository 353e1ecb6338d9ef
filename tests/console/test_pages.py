"""HTML files in Chromium: the pages of a failed test, of a conformance run and of an audit, which look alike."""

import subprocess
import sys
from pathlib import Path

import pytest
from console_browser import DESKTOP, PHONE, Browser
from console_shop import HOSTILE
from pyspark_rocketmq.audit.page import AuditRun
from pyspark_rocketmq.audit.page import page as audit_page
from pyspark_rocketmq.audit.rules import FAILURES, VERDICTS
from pyspark_rocketmq.audit.summary import AuditFinding, Moment, Summary, SummaryLine
from rocketmq_testkit.conformance.report.page import page as conformance_page

PICTURES = Path(__file__).resolve().parents[2] / ".reports" / "console"
TEST = f"""
import pytest
from rocketmq_testkit import faults

HOSTILE = {HOSTILE + "</pre></style><script>window.hurt=4</script>"!r}

@pytest.mark.rocketmq(time="frozen", start_at="2026-01-31T12:00:00Z")
def test_late(rocketmq):
    orders, _ = rocketmq.topic("orders"), rocketmq.group("billing")
    orders.send(HOSTILE, tag="<b>tag</b>", keys=["<i>key</i>"], properties={{"<u>name</u>": HOSTILE}})
    for number in range(30):
        orders.send(f"tea {{number}}", keys=[str(number)])
    orders.send(bytes(range(256)))
    rocketmq.clock.advance("5s")
    raise AssertionError(HOSTILE)
"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Kind of page -> address of a page of this kind, with texts that an unescaped page would run as markup."""
    folder = tmp_path_factory.mktemp("pages")
    (folder / "test_shop.py").write_text(TEST)
    command = [str(Path(sys.executable).with_name("pytest")), "-q", "-p", "no:cacheprovider", "--rocketmq-html=made"]
    done = subprocess.run([*command, "test_shop.py"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout
    run = folder / "made" / "test_shop.py" / "test_late.html"
    assert run.as_uri() in done.stdout
    report = folder / "report.html"
    report.write_text(conformance_page(_document()))
    audit = folder / "audit.html"
    audit.write_text(audit_page(_sums(), [HOSTILE], run=AuditRun(f"rocketmq-audit {HOSTILE}", 75.2)))
    return {"run": run.as_uri(), "conformance": report.as_uri(), "audit": audit.as_uri()}


def _sums() -> Summary:
    failure, start_us = FAILURES[0], 1_767_225_600_000_000

    def line(messages: int, key: str | None, failures: int) -> SummaryLine:
        counts = dict.fromkeys(VERDICTS, 0) | {failure: failures}
        return SummaryLine(
            HOSTILE,
            "warehouse",
            key,
            messages,
            deliveries=messages,
            verdicts=counts,
            latencies_us=[1500, 2_500_000, 7_200_000_000],
        )

    return Summary(
        events=2000,
        skipped=1,
        topics={HOSTILE: {"stored": 1234}},
        lines=[line(1234, None, 3)],
        keys=[line(5, HOSTILE, 1)],
        moments=[Moment(start_us + second * 1_000_000, 4 + second % 3, 2, second % 2) for second in range(60)],
        width_us=1_000_000,
        delays={3: 1, 5: 4, 9: 2},
        findings=[
            AuditFinding(
                "run",
                HOSTILE,
                "warehouse",
                None,
                message_id=HOSTILE,
                verdicts=[failure],
                deliveries=1,
                acks=0,
                visible_us=start_us,
                first_us=None,
            )
        ],
    )


def _document() -> dict[str, object]:
    seen = [["sent", {"body": HOSTILE}]]
    recorded = {"version": "5.3.3", "date": "2026-01-31", "seen": []}
    verdicts = ("same", "differs", "known gap", "not applicable")
    names = ("emulator", "apache:5.3.3")
    return {
        "product": "rocketmq-testkit 1.0",
        "command": "rocketmq-conformance run --target emulator --target apache:5.3.3",
        "date": "2026-01-31",
        "seconds": 75.2,
        "problem": HOSTILE,
        "targets": [{"name": name, "about": HOSTILE, "version": "5.3.3", "likely_causes": []} for name in names],
        "entries": {
            f"send.{number}": {"noun": "send", "sentence": HOSTILE, "source": "SendMessage", "protocol": "remoting"}
            for number in range(len(verdicts))
        },
        "outcomes": [
            {
                "id": f"send.{number}",
                "verdict": verdict,
                "expected": verdict != "differs",
                "target": name,
                "seconds": 0.1,
                "reason": HOSTILE if verdict == "differs" else "",
                **({"seen": seen, "recorded": recorded} if verdict == "differs" else {}),
            }
            for number, verdict in enumerate(verdicts)
            for name in names
        ],
    }


@pytest.mark.parametrize("kind", ["run", "conformance", "audit"])
@pytest.mark.parametrize(("size", "scheme"), [(DESKTOP, "light"), (DESKTOP, "dark"), (PHONE, "light")])
def test_page_is_usable_and_runs_no_text(
    browser: Browser, pages: dict[str, str], axe: str, kind: str, *, size: tuple[int, int], scheme: str
) -> None:
    """A page has no serious finding of axe-core, logs no error, sends no request, runs no text, and fits its width."""
    browser.resize(size)
    browser.scheme(scheme)
    browser.driver.get(pages[kind])
    browser.picture(PICTURES / f"page-{kind}-{scheme}-{size[0]}.png", whole=True)
    wide = browser.script("return document.documentElement.scrollWidth")
    requested = browser.script("return performance.getEntriesByType('resource').map((each) => each.name)")
    made = browser.script(
        "return document.querySelectorAll('img, svg[onload], main b u, [onerror], main script').length"
    )
    found, hurt = browser.axe(axe), browser.script("return window.hurt")
    browser.resize(DESKTOP)
    browser.scheme("light")
    assert (requested, made, hurt, found) == ([], 0, None, [])
    assert wide == size[0]


def test_page_of_a_run_shows_histories(browser: Browser, pages: dict[str, str]) -> None:
    """The page of a failed test shows the failure, the command that repeats it, and the history of each message."""
    browser.driver.get(pages["run"])
    assert len(browser.all("main > details[open]")) == 10
    browser.script("for (const each of document.querySelectorAll('details')) each.open = true")
    text = browser.text("body")
    for wanted in ("--rocketmq-start=2026-01-31T12:00:00.000Z", "tea 29", "2026-01-31 12:00:00.000", "sent", HOSTILE):
        assert wanted in text
    assert len(browser.all("main > details .timeline")) == 32
    assert browser.text("header .facts").startswith("product")
    assert "SendMessage" in browser.text("main > details:last-of-type")


def test_filter_of_the_conformance_report_hides_rows(browser: Browser, pages: dict[str, str]) -> None:
    """The security policy of the page allows its own script, which filters the rows."""
    browser.driver.get(pages["conformance"])
    shown = "return [...document.querySelectorAll('.outcomes tbody tr')].filter((each) => each.offsetParent).length"
    assert browser.script(shown) == 4
    browser.all("#only")[0].click()
    assert browser.script(shown) == 1
