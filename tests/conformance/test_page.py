"""The page of a run with two targets: a column for each target, and for each difference the record and the notes."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib import metadata

import pytest
from rocketmq_testkit.conformance.command import main
from rocketmq_testkit.conformance.deployment.target import COMMON_SETTINGS
from rocketmq_testkit.conformance.outputs import shown
from rocketmq_testkit.fixtures import Emulator
from rocketmq_testkit.fixtures.pages.html_file import stylesheet

VOID = frozenset({"meta", "input", "br", "col"})


class Page(HTMLParser):
    """A parser for a page: tables as rows of texts, ids, and the ids of links."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tables: list[list[list[str]]] = []
        self.ids: list[str] = []
        self.links: set[str] = set()
        self.files: set[str] = set()
        self.facts: list[str] = []
        """Names and values of the header block, by turns."""
        self.columns: list[int] = []
        """Number of columns of each table that declares its columns."""
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == [], "every element is closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.ids += [value for name, value in attrs if name == "id" and value]
        self.links |= {value.removeprefix("#") for name, value in attrs if name == "href" and value and value[0] == "#"}
        self.files |= {value for name, value in attrs if name == "href" and value and value[0] != "#"}
        if tag == "colgroup":
            self.columns.append(0)
        elif tag == "col":
            self.columns[-1] += 1
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("dt", "dd"):
            self.facts.append("")
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if {"dt", "dd"} & set(self._open):
            self.facts[-1] += data
        if {"td", "th"} & set(self._open):
            row = self.tables[-1][-1]
            row[-1] = f"{row[-1]} {data.strip()}".strip()

    def table(self, heading: str) -> list[list[str]]:
        """Return the table whose first cell has this text."""
        [found] = [each for each in self.tables if each[0][0] == heading]
        return found


@pytest.fixture(scope="module")
def other() -> Iterator[str]:
    """A target that does not create topics automatically."""
    with Emulator(profile="faithful", config={**COMMON_SETTINGS, "autoCreateTopicEnable": "false"}) as emulator:
        yield f"namesrv={emulator.namesrv},endpoint={emulator.endpoint},control={emulator.control}"


@pytest.fixture(scope="module")
def page(other: str, tmp_path_factory: pytest.TempPathFactory) -> Page:
    """The page of one case and one scenario that differ with one of two targets."""
    folder = tmp_path_factory.mktemp("page")
    words = (
        "-k",
        "auto_create.a_send_creates_its_topic or "
        "scenarios.topics.a_send_creates_an_unknown_topic_over_remoting_and_fails_over_grpc",
    )
    targets = ("--target", "emulator", "--target", other)
    assert main(["run", *words, "--sdk", "go-remoting", *targets, "--report", str(folder)]) == 1
    found = Page((folder / "index.html").read_text())
    assert found.files == {each.name for each in folder.iterdir()} - {"index.html"}
    return found


def test_each_target_has_a_column_with_every_outcome_and_its_duration(page: Page, other: str) -> None:
    assert [row[:5] for row in page.table("target")] == [
        ["target", "compared with", "as expected", "differs", "same"],
        ["emulator", "5.3.3", "100.0 %", "", "2 100.0 %"],
        [
            f"{other} likely cause: autoCreateTopicEnable=false (recorded with true)",
            "5.3.3",
            "0.0 %",
            "2 100.0 %",
            "",
        ],
    ]
    cases = page.table("case")
    assert cases[0] == ["case", "emulator", other]
    scenarios = page.table("scenario")
    assert scenarios[:2] == [["scenario", "go-remoting"], ["emulator", other]]
    for row, name in ((cases[1], "a send creates its topic"), (scenarios[2], "a send creates an unknown topic")):
        assert row[0].startswith(name)
        assert re.fullmatch(r"same \d+\.\d\d s", row[1])
        assert re.fullmatch(r"differs \d+\.\d\d s", row[2])
    assert (len(cases), len(scenarios)) == (2, 3)


def test_a_page_shows_product_version_command_date_and_duration(page: Page, other: str) -> None:
    """A page shows product, version, the command for a repetition, the date and the duration."""
    facts = dict(zip(page.facts[::2], page.facts[1::2], strict=True))

    assert facts["product"] == f"rocketmq-testkit {metadata.version('rocketmq-testkit')}"
    assert facts["command"].startswith("rocketmq-conformance run -k 'auto_create.a_send")
    assert f"--target emulator --target {other} --report" in facts["command"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", facts["date"])
    assert re.fullmatch(r"\d+\.\d s|\d+ min \d+ s", facts["duration"])
    assert "emulator, compared with RocketMQ 5.3.3" in facts["target"]
    assert facts["as expected"] == "50.0 % of 4 outcomes"


def test_a_report_page_links_to_the_lists_of_behaviors(page: Page) -> None:
    """The folder of a report has the full lists, and the page of the report links to each."""
    assert {"behavior.md", "differences-5.5.0.md"} <= page.files


def test_columns_of_outcomes_have_the_same_width(page: Page) -> None:
    """Each table of outcomes declares its columns, so that neither texts nor hidden rows change their width."""
    assert re.search(r"\.outcomes \{[^}]*table-layout: fixed", stylesheet())
    assert page.columns == [3, 3]
    assert page.columns == [len(page.table("case")[1]), len(page.table("scenario")[2])]


def test_a_page_masks_secrets_in_the_command() -> None:
    """A page masks secrets in the command and shows the rest of the command as typed."""
    target = "namesrv=h:1,endpoint=h:2,access_key=me,secret_key=very secret,token=x,control_token=y"

    assert shown(["run", "--target", target]) == (
        "rocketmq-conformance run --target 'namesrv=h:1,endpoint=h:2,access_key=me,secret_key=***,token=***,"
        "control_token=***'"
    )


def test_a_difference_shows_the_record_next_to_the_seen_notes(page: Page) -> None:
    """A difference shows the record with version and date next to the seen notes, note by note."""
    sides = [each for each in page.tables if each[0][1] == "seen"]
    [case, scenario] = sides
    assert re.fullmatch(r"recorded from 5\.3\.3 on \d{4}-\d\d-\d\d", case[0][0])
    labels = [(left.split()[0], right.split()[0]) for left, right in case[1:]]
    assert labels == [(label, label) for label in ("before", "sent", "created", "stored")]
    recorded, seen = case[2]
    assert '"code": 0' in recorded
    assert '"code": 17' in seen
    assert ["SEND_OK" in cell for cell in scenario[1]] == [True, False]


def test_a_difference_is_linked_from_its_cell(page: Page) -> None:
    """Every difference is linked from its cell, and every id is unique."""
    assert len(page.links) == 2
    assert page.links <= set(page.ids)
    assert len(page.ids) == len(set(page.ids))
