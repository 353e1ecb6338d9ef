"""Changes of the built HTML that Markdown cannot express: the cells of tables, and the language of pages.

A pipe in a table is written `\\|`, as a forge demands; in code Zensical shows the backslash, which `finish` removes.
Tables of identifiers are wider than a page, because a browser does not break `UPDATE_AND_CREATE_TOPIC`. `finish` allows
breaks between the words of identifiers in cells, and marks cells with sentences, which docs/style/site.css gives room.
"""

import re
from pathlib import Path

LANGUAGES = {"zh": "zh-CN"}
"""Folders of translated pages, and their languages. Other pages are in English, the language of mkdocs.yml."""
SENTENCE_CHARACTERS = 30
"""A cell with more characters is a sentence or a list, if it has spaces."""
SENTENCE_HAN = 12
"""A cell with more Chinese characters is a sentence; a browser may break it after each of them."""
_CELL = re.compile(r"<td([^>]*)>(.*?)</td>", re.DOTALL)
_TAG = re.compile(r"(<[^>]*>)")
_CODE = re.compile(r"<code>.*?</code>", re.DOTALL)
_HAN = re.compile(r"[\u4e00-\u9fff]")
_IDENTIFIER = re.compile(r"[\w./:=]{16,}")
_BREAK = re.compile(r"(?<=[A-Za-z0-9][_./:=])(?=[A-Za-z0-9]{3})|(?<=[a-z0-9])(?=[A-Z])")
_LIST = re.compile(r"&#?\w+;|[;,、](?=[^\s\d])|\)(?=\.\w)")
"""An entity of HTML, which does not break, or the end of an entry or a call, as in `a;b` and `a().b()`."""
_LANGUAGE = re.compile(r'(<html lang=")[^"]*')


def finish(site: Path) -> None:
    """Rewrite all pages of a built site."""
    for path in site.rglob("*.html"):
        text = path.read_text()
        done = finished(text, LANGUAGES.get(path.relative_to(site).parts[0], ""))
        if done != text:
            path.write_text(done)


def finished(html: str, language: str = "") -> str:
    """Return the finished text of a page. Without `language` the page keeps its language."""
    if language:
        html = _LANGUAGE.sub(rf"\g<1>{language}", html, count=1)
    return _CELL.sub(_cell, html)


def _cell(found: re.Match[str]) -> str:
    attributes, content = found.groups()
    content = _CODE.sub(lambda code: code[0].replace("\\|", "|"), content)
    parts = _TAG.split(content)
    text = "".join(parts[::2]).strip()
    is_sentence = (" " in text and len(text) > SENTENCE_CHARACTERS) or len(_HAN.findall(text)) > SENTENCE_HAN
    kind = ' class="sentence"' if is_sentence else ""
    parts[::2] = (_with_breaks(part) for part in parts[::2])
    return f"<td{kind}{attributes}>{''.join(parts)}</td>"


def _with_breaks(text: str) -> str:
    text = _LIST.sub(lambda end: end[0] if end[0].startswith("&") else f"{end[0]}\0", text)
    return _IDENTIFIER.sub(lambda word: _BREAK.sub("\0", word[0]), text).replace("\0", "<wbr>")
