"""The documentation site: its pages, their links, the generated reference, and the checks of the built site."""

import re
from pathlib import Path

import pytest
import rocketmq_testkit
import website
from docs_site import api_page, checks, finish, operations_page, options_page, sources
from docs_site.sources import BrokenLink, Page
from rocketmq_testkit.fixtures import plugin

ROOT = Path(__file__).resolve().parents[2]
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text()
FIGURE = re.compile(r"^\| (.+?) \| (?:over )?([\d,.]+)(?: ms| MiB)? \| (?:([\d,.]+)(?: ms| MiB)?)? ?\|$", re.MULTILINE)


def test_every_page_is_in_the_navigation() -> None:
    """Every page has an entry in the navigation, every entry has a page, and every link has a target."""
    texts = sources.linked(sources.joined(sources.written(), sources.generated(website.generated())))
    assert [*checks.unlisted(website.CONFIGURATION.read_text(), texts)] == []


def translated(text: str) -> str:
    """Return the text of a page of docs/ with the links that it has on a site with two other pages."""
    others = (Page("index.md", "README.md", "# The kit\n"), Page("behavior/pop.md", "docs/behavior/pop.md", ""))
    return sources.linked(sources.joined(others, [Page("command.md", "docs/command.md", text)]))["command.md"]


def test_a_link_to_a_page_leads_to_its_place_on_the_site() -> None:
    """A link to a page elsewhere in the repository leads to that page on the site, with its anchor."""
    assert (
        translated("[a](../README.md#two-commands) [b](behavior/pop.md)")
        == "[a](index.md#two-commands) [b](behavior/pop.md)"
    )
    assert (
        translated("[a](#options) [b](https://rocketmq.apache.org)") == "[a](#options) [b](https://rocketmq.apache.org)"
    )


def test_a_link_named_after_a_page_shows_its_title() -> None:
    """A link with the file name of a page as its text shows the title of the page."""
    assert translated("[README.md](../README.md)") == "[The kit](index.md)"


def test_a_link_to_a_file_becomes_its_path() -> None:
    """A link to a file that is no page becomes the path of the file, because the site has no sources."""
    assert translated("[compose.yaml](../compose.yaml)") == "`compose.yaml`"
    assert translated("[the\nexample](../compose.yaml)") == "the\nexample (`compose.yaml`)"


def test_brackets_in_a_code_block_are_not_translated_as_a_link() -> None:
    text = "```python\na[0](nothing.md)\n```\n"
    assert translated(text) == text


def test_a_link_without_a_target_raises_broken_link() -> None:
    """A link without a target is an error that names the page and the link."""
    with pytest.raises(BrokenLink, match=re.escape("docs/command.md: the link nothing.md")):
        translated("[a](nothing.md)")


def test_a_generated_page_replaces_the_committed_page_of_its_name() -> None:
    """A generated page, such as the index of behaviors, replaces the committed page of the same name."""
    found = sources.joined([Page("a.md", "docs/a.md", "old")], sources.generated({"a.md": "new"}))
    assert sources.linked(found) == {"a.md": "new"}


def test_the_api_page_has_every_public_name() -> None:
    """The page of the Python API has each public class with its methods, and each fixture."""
    page = api_page.page()
    assert {f"\n## {name}\n" in page for name in rocketmq_testkit.__all__} == {True}
    assert [name for name, _ in api_page.fixtures_of(plugin)] == [
        "rocketmq_config",
        "rocketmq",
        "rocketmq_template",
        "rocketmq_session",
        "rocketmq_factory",
    ]
    assert "advance_until(\n    predicate: Callable[[], object],\n" in page
    for each in api_page.classes():
        _, methods = api_page.members_of(each)
        assert [name for name, (_, text) in methods.items() if not text] == [], each


def test_the_page_of_operations_has_a_section_for_each_operation() -> None:
    """Each operation has a section with its sentence, and a row for every field."""
    page = operations_page.page()
    found = operations_page.operations()
    assert len(found) > 100
    assert [each.__name__ for each in found if f"\n### {each.__name__}\n" not in page or not each.__doc__] == []
    assert "| `invisible_ms` |" in page


def test_the_page_of_options_has_every_command() -> None:
    """The page of options has every command with its subcommands."""
    page = options_page.page()
    assert re.findall(r"^## (.+)$", page, re.MULTILINE) == [
        "rocketmq-emulator",
        "rocketmq-conformance",
        *(f"rocketmq-conformance {name}" for name in ("list", "run", "build", "report")),
        "rocketmq-audit",
        "rocketmq-replay",
    ]


def built(folder: Path, **pages: str) -> list[str]:
    """Write a site of these pages and return its problems."""
    for name, text in pages.items():
        (folder / f"{name}.html").write_text(text)
    return list(checks.problems(folder))


def test_valid_links_are_no_problems(tmp_path: Path) -> None:
    """Valid links to pages, headings, files and other sites are no problems."""
    (tmp_path / "style.css").write_text("")
    first = '<link rel="stylesheet" href="style.css"><h1 id="one">1</h1><a href="b.html#two">b</a><a href="#one">1</a>'
    second = '<h1 id="two">2</h1><a href="https://rocketmq.apache.org">RocketMQ</a><a href="a.html">a</a>'
    assert built(tmp_path, a=first, b=second) == []


@pytest.mark.parametrize(
    ("html", "problem"),
    [
        ('<a href="c.html">c</a>', "the link c.html leads to no page"),
        ('<a href="#two">2</a>', "the link #two leads to no heading"),
        ('<script src="https://example.org/x.js"></script>', "loads https://example.org/x.js from elsewhere"),
        ('<img src="x.svg">', "loads x.svg, which is not there"),
        ('<link rel="preconnect" href="https://example.org">', "loads https://example.org from elsewhere"),
    ],
)
def test_a_broken_link_or_external_file_is_reported_with_its_page(tmp_path: Path, html: str, problem: str) -> None:
    assert built(tmp_path, a=html) == [f"a.html: {problem}"]


def test_missing_and_repeated_entries_of_the_navigation_are_reported() -> None:
    """Pages outside of the navigation, entries without a page, and repeated entries are reported."""
    nav = "site_name: x\nnav:\n  - Start:\n      - Home: index.md\n      - gone.md\n      - Again: index.md\n"
    assert list(checks.unlisted(nav, {"index.md": "", "new.md": ""})) == [
        "index.md: in the navigation twice",
        "new.md: not in the navigation of mkdocs.yml",
        "gone.md: in the navigation of mkdocs.yml, but no page",
    ]


def test_an_unknown_command_is_rejected(capsys: pytest.CaptureFixture[str]) -> None:
    """An unknown command exits with 2 and prints the known commands."""
    assert website.main(["bild"]) == 2
    assert "scripts/website.py build" in capsys.readouterr().err


def test_the_glossary_is_one_sentence_for_each_term() -> None:
    """The glossary has each term once, in alphabetical order, with one sentence."""
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", GLOSSARY, re.MULTILINE)[2:]
    terms = [term for term, _ in rows]
    assert len(terms) > 50
    assert terms == sorted(set(terms), key=str.lower)
    assert [term for term, meaning in rows if not meaning.endswith(".") or re.search(r"\.\s+[A-Z]", meaning)] == []


def test_each_figure_of_the_readme_is_a_measured_number() -> None:
    """Each figure of the README is in bench/README.md, or is a lower bound of the number in the index of behaviors."""
    bench = (ROOT / "bench" / "README.md").read_text()
    index = (ROOT / "docs" / "behavior.md").read_text()
    figures = FIGURE.findall((ROOT / "README.md").read_text())
    assert len(figures) == 4
    for what, here, there in figures:
        if "behaviors" in what:
            cases, scenarios = re.findall(r"(\d+) (?:cases|scenarios), which", index)
            assert int(here.replace(",", "")) <= int(cases) + int(scenarios)
        else:
            assert re.search(rf"\| {re.escape(here)} \| {re.escape(there)}", bench), what


def cell(text: str, attributes: str = "") -> str:
    """Return the finished form of one cell of a table."""
    [found] = re.findall(r"<td.*</td>", finish.finished(f"<table><tr><td{attributes}>{text}</td></tr></table>"))
    return str(found)


def test_long_identifiers_in_tables_can_break_between_their_words() -> None:
    """A key or a request code breaks between its words, so that its column can be narrow. Attributes do not change."""
    assert cell("<code>authorizationMetadataProvider</code>") == (
        "<td><code>authorization<wbr>Metadata<wbr>Provider</code></td>"
    )
    assert cell("UPDATE_AND_CREATE_TOPIC") == "<td>UPDATE_<wbr>AND_<wbr>CREATE_<wbr>TOPIC</td>"
    assert cell("_UNIQUE_KEY_QUERY:b") == "<td>_UNIQUE_<wbr>KEY_<wbr>QUERY:b</td>"
    assert cell("org.apache.RocketmqBroker") == "<td>org.<wbr>apache.<wbr>Rocketmq<wbr>Broker</td>"
    link = '<a href="updateAndCreateTopic.html">ok</a>'
    assert cell(link) == f"<td>{link}</td>"


def test_lists_without_spaces_in_tables_can_break_after_each_entry() -> None:
    assert cell("a=&quot;b&quot;;c,d、e") == "<td>a=&quot;b&quot;;<wbr>c,<wbr>d、<wbr>e</td>"
    assert cell("10,000") == "<td>10,000</td>"
    assert cell("<code>add(&quot;a&quot;).times(1)</code>") == (
        "<td><code>add(&quot;a&quot;)<wbr>.times(1)</code></td>"
    )


def test_a_pipe_in_code_in_a_table_has_no_backslash() -> None:
    """The Markdown has a backslash, because a pipe without it ends the cell on a forge."""
    assert cell(r"<code>str \| None</code>") == "<td><code>str | None</code></td>"
    text = r"<p><code>a \| b</code></p>"
    assert finish.finished(text) == text


def test_short_words_and_entities_in_tables_do_not_break() -> None:
    assert cell("SendMessage &lt;ackMessage&gt;") == "<td>SendMessage &lt;ackMessage&gt;</td>"


def test_cells_with_sentences_are_marked() -> None:
    """The style gives cells with the class `sentence` a minimum width. Other attributes stay."""
    sentence = "Requests must be signed by an existing user."
    assert cell(sentence, ' style="text-align: right;"') == (
        f'<td class="sentence" style="text-align: right;">{sentence}</td>'
    )
    chinese = "测试可以移动时钟并查看每条消息和请求"
    assert cell(chinese) == f'<td class="sentence">{chinese}</td>'
    assert cell("<code>a_name_without_a_space_is_no_sentence_at_all</code>").startswith("<td><code>")


def test_text_outside_of_tables_is_not_changed() -> None:
    text = "<p>authorizationMetadataProvider is <code>authorizationMetadataProvider</code></p>"
    assert finish.finished(text) == text


def test_chinese_pages_declare_their_language(tmp_path: Path) -> None:
    """Browsers choose the forms of Chinese characters by the language of the page; screen readers their voice."""
    (tmp_path / "zh").mkdir()
    for name in ("java.html", "zh/java.html"):
        (tmp_path / name).write_text('<!doctype html>\n<html lang="en" class="no-js"><body></body></html>')
    finish.finish(tmp_path)
    assert '<html lang="en" class="no-js">' in (tmp_path / "java.html").read_text()
    assert '<html lang="zh-CN" class="no-js">' in (tmp_path / "zh" / "java.html").read_text()
