"""Comparison of a translated page with its English twin, and checks of Chinese typesetting."""

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

TWINS: Mapping[str, str] = {
    "README.md": "README.zh-CN.md",
    "docs/java.md": "docs/zh/java.md",
    "docs/go.md": "docs/zh/go.md",
    "docs/node.md": "docs/zh/node.md",
}
"""Each translated page: the English one, and the Chinese one."""
_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^(#+) (.+)$", re.MULTILINE)
_CODE = re.compile(r"`([^`]+)`")
_LINK = re.compile(r"\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]+)\)")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_CHOICE = re.compile(r"^(?:English|\[English\]\(\S+\)) \| (?:简体中文|\[简体中文\]\(\S+\))$", re.MULTILINE)
_HAN = "\u4e00-\u9fff"
_FULL_WIDTH = "，。；：？！、（）“”"
_MISTAKES = {
    "no space between Chinese and Latin": re.compile(f"[{_HAN}](?=[A-Za-z0-9`])|[A-Za-z0-9`](?=[{_HAN}])"),
    "half-width punctuation beside Chinese": re.compile(
        f"[{_HAN}{_FULL_WIDTH}] ?[,;:?!()]|[,;:?!()] ?[{_HAN}]|[{_HAN}][.]"
    ),
    "a space beside full-width punctuation": re.compile(f" [{_FULL_WIDTH}]|[{_FULL_WIDTH}] (?!\\|)"),
    "a line break, which browsers show as a space": re.compile(f"[{_HAN}{_FULL_WIDTH}]\n(?=[^\n|#-])"),
}


@dataclass(frozen=True)
class Section:
    """A heading with the text up to the next heading. Links in it are relative to `page`."""

    page: str
    level: int
    heading: str
    body: str

    @property
    def _prose(self) -> str:
        """The text without blocks of code and the line that selects a language."""
        return _CHOICE.sub("", _FENCE.sub("", self.body))

    @property
    def blocks(self) -> list[str]:
        """Blocks of code, in order."""
        return _FENCE.findall(self.body)

    @property
    def code(self) -> Counter[str]:
        """Code within sentences. The order of words differs between languages."""
        return Counter(" ".join(each.split()) for each in _CODE.findall(self._prose))

    @property
    def links(self) -> Counter[str]:
        """Targets, as paths from the root of the repository. A translated page counts as its English twin."""
        english = {chinese: name for name, chinese in TWINS.items()}
        found: Counter[str] = Counter()
        for target in _LINK.findall(self._prose):
            path, hash_, anchor = target.partition("#")
            if path and "://" not in path:
                path = os.path.normpath(PurePosixPath(self.page).parent / path)
            found[english.get(path, path) + hash_ + anchor] += 1
        return found

    @property
    def numbers(self) -> Counter[str]:
        """Numbers in digits outside of code and of targets of links."""
        text = _LINK.sub(lambda found: found[0].partition("](")[0], self._prose)
        return Counter(_NUMBER.findall(_CODE.sub("", text)))

    @property
    def rows(self) -> list[int]:
        """The number of cells of each row of tables."""
        lines = (line for line in self._prose.splitlines() if line.startswith("|"))
        return [_CODE.sub("", line).count("|") - 1 for line in lines]

    @property
    def items(self) -> int:
        """The number of items of lists."""
        return len(re.findall(r"^- ", self._prose, re.MULTILINE))

    @property
    def paragraphs(self) -> int:
        """The number of paragraphs, lists and tables."""
        return len([each for each in self._prose.split("\n\n") if each.strip() and not each.strip().startswith("<a ")])


def sections(page: str, text: str) -> list[Section]:
    """Return the sections of a page. `page` is its path from the root of the repository."""
    hidden = _FENCE.sub(lambda found: found[0].replace("\n#", "\n "), text)
    heads = list(_HEADING.finditer(hidden))
    ends = [*(head.start() for head in heads[1:]), len(text)]
    return [Section(page, len(head[1]), head[2], text[head.end() : end]) for head, end in zip(heads, ends, strict=True)]


def differences(english: list[Section], chinese: list[Section]) -> Iterator[str]:
    """Yield a sentence for each part of the English page that the Chinese page lacks, and the other way round."""
    if [each.level for each in english] != [each.level for each in chinese]:
        yield f"headings: {[each.heading for each in english]}, but {[each.heading for each in chinese]}"
        return
    for one, other in zip(english, chinese, strict=True):
        for part in ("blocks", "code", "links", "numbers"):
            here, there = Counter(getattr(one, part)), Counter(getattr(other, part))
            if here != there:
                yield f"{one.heading}: {part}: only English {dict(here - there)}, only Chinese {dict(there - here)}"
        for part in ("rows", "items", "paragraphs"):
            if getattr(one, part) != getattr(other, part):
                yield f"{one.heading}: {part}: {getattr(one, part)}, but {getattr(other, part)}"
        if one.blocks != other.blocks and Counter(one.blocks) == Counter(other.blocks):
            yield f"{one.heading}: blocks of code in another order"


def typesetting(text: str) -> Iterator[str]:
    """Yield each place of a Chinese page that breaks a rule of typesetting, with the rule."""
    prose = _CHOICE.sub("", _FENCE.sub("", text))
    prose = _LINK.sub(lambda found: found[0][1:].partition("](")[0], prose)
    prose = _CODE.sub(lambda found: f"`{'x' * len(found[1])}`", prose)
    for rule, pattern in _MISTAKES.items():
        for found in pattern.finditer(prose):
            around = prose[max(0, found.start() - 12) : found.end() + 12]
            yield f"{rule}: ...{around!r}..."
