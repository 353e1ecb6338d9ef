"""Texts on the page of a run: each text of the document is escaped, and shown unchanged."""

import json
import re
from html.parser import HTMLParser
from typing import Any

from rocketmq_testkit.conformance.report.page import page

ODD = """<b>bold</b> & "quoted" & 'quoted' {{ 7 * 7 }}"""
SEEN = [["sent", {"body": ODD}]]


class Texts(HTMLParser):
    """A parser that collects the texts, the names of tags, and the values of attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.tags: list[str] = []
        self.values: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.values += [value for _, value in attrs if value]

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def outcome(id_: str, verdict: str, **more: Any) -> dict[str, Any]:
    """Return an outcome as a document has it; one that differs is not expected."""
    common = {"target": ODD, "seconds": 0.126, "reason": ""}
    return {"id": id_, "verdict": verdict, "expected": verdict != "differs", **common, **more}


def document(*outcomes: dict[str, Any]) -> dict[str, Any]:
    """Return a document with an odd text in every field that can hold one."""
    entry = {"noun": "send", "sentence": ODD, "source": ODD, "protocol": "remoting"}
    target = {"name": ODD, "about": f"about {ODD}", "version": "5.3.3", "likely_causes": [ODD]}
    return {
        "product": "rocketmq-testkit",
        "command": ODD,
        "date": "2026-01-31",
        "seconds": 75.2,
        "problem": ODD,
        "targets": [target],
        "entries": {"send.one": entry},
        "outcomes": [*outcomes],
    }


def test_every_text_is_escaped() -> None:
    """A text with markup in any field is shown unchanged, and creates no element."""
    recorded = {"version": "5.3.3", "date": "2026-01-31", "seen": []}
    differs = outcome("send.one", "differs", reason=ODD, seen=SEEN, recorded=recorded)
    content = document(differs)
    found = Texts(page(content, lists=[ODD]))
    shown = "".join(found.texts)
    # Title and heading, target and command, problem, target, about, cause, column of the table, sentence, source, list,
    # reason, and heading of the details. The value of the note is JSON, with its quotation marks escaped.
    assert shown.count(ODD) == 14
    assert ODD.replace('"', '\\"') in shown
    assert found.values.count(ODD) == 2  # the address of the list, and the reason on the cell
    plain = json.loads(json.dumps(content).replace(json.dumps(ODD)[1:-1], "plain"))
    assert found.tags == Texts(page(plain, lists=["plain"])).tags


def test_cells_say_how_an_outcome_relates_to_the_record() -> None:
    """A cell has the name of its verdict, the duration if the case ran, and a link if there are details."""
    recorded = {"version": "5.5.0", "date": "2026-01-31", "seen": SEEN}
    text = page(
        document(
            outcome("send.one", "same"),
            outcome("send.two", "known gap", reason="later"),
            outcome("send.three", "not applicable", reason="no gRPC"),
            outcome("send.four", "same", seen=SEEN, recorded=recorded, reference={**recorded, "version": "5.3.3"}),
        )
    )
    cells = re.findall(r'<td class="(?:good|known|none|bad)".*?</td>', text)
    assert [re.sub(r"<[^>]*>", " ", cell).split() for cell in cells] == [
        ["as", "5.5.0", "0.13", "s"],
        ["same", "0.13", "s"],
        ["n/a"],
        ["gap", "0.13", "s"],
    ]
    assert ["href" in cell for cell in cells] == [True, False, False, True]
    assert "1 min 15 s" in text


def test_page_of_nothing_has_no_tables_of_outcomes() -> None:
    """A run without outcomes shows only its facts and targets."""
    text = page(document())
    assert re.findall(r"<h[23]>", text) == []
    assert text.endswith("</script>\n</body></html>\n")
