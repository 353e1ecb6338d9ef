"""Chinese pages: each has the parts of its English twin, and follows the rules of Chinese typesetting.

The blocks of code of a Chinese page equal those of its twin, which other tests run.
"""

import os
import re
from pathlib import Path

import pytest
from translated_page import TWINS, differences, sections, typesetting

ROOT = Path(__file__).resolve().parents[2]


def text_of(page: str) -> str:
    """Return the text of a page of the repository."""
    return (ROOT / page).read_text(encoding="utf-8")


@pytest.mark.parametrize(("english", "chinese"), TWINS.items())
def test_a_translated_page_has_the_headings_code_links_numbers_and_rows_of_its_twin(english: str, chinese: str) -> None:
    """If this fails, translate the change of the English page, or make it in both pages."""
    found = differences(sections(english, text_of(english)), sections(chinese, text_of(chinese)))
    assert [*found] == []


@pytest.mark.parametrize(("english", "chinese"), TWINS.items())
def test_the_pages_of_a_pair_link_to_each_other_below_the_title(english: str, chinese: str) -> None:
    to_chinese = os.path.relpath(chinese, Path(english).parent)
    to_english = os.path.relpath(english, Path(chinese).parent)
    assert text_of(english).splitlines()[2] == f"English | [简体中文]({to_chinese})"
    assert text_of(chinese).splitlines()[2] == f"[English]({to_english}) | 简体中文"


def test_each_chinese_page_has_an_english_twin() -> None:
    found = {path.relative_to(ROOT).as_posix() for path in (*ROOT.glob("*.zh-CN.md"), *ROOT.glob("docs/zh/**/*.md"))}
    assert found == {*TWINS.values()}


@pytest.mark.parametrize("chinese", TWINS.values())
def test_a_chinese_page_follows_the_rules_of_typesetting(chinese: str) -> None:
    assert [*typesetting(text_of(chinese))] == []


ENGLISH = """# Orders

Send `tea` in 5 minutes, see [Java](java.md#first).

```sh
# make tea
make tea
```

## Limits

| call | meaning |
|---|---|
| `a | b` | none |

- one
- two
"""
CHINESE = """# 订单

在 5 分钟内发送 `tea`，见 [Java](zh/java.md#first)。

```sh
# make tea
make tea
```

## 限制

| 调用 | 含义 |
|---|---|
| `a | b` | 无 |

- 一
- 二
"""


def drift(chinese: str) -> str:
    """Return the differences between the small English page and a Chinese one."""
    return "\n".join(differences(sections("docs/orders.md", ENGLISH), sections("docs/orders.md", chinese)))


def test_a_complete_translation_has_no_differences() -> None:
    assert drift(CHINESE) == ""


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ("## 限制\n", "", "headings"),
        ("## 限制", "### 限制", "headings"),
        ("make tea\n```", "make coffee\n```", "Orders: blocks"),
        ("`tea`", "茶", "Orders: code"),
        ("zh/java.md#first", "zh/go.md#first", "Orders: links"),
        ("java.md#first", "java.md#second", "Orders: links"),
        ("5 分钟", "50 分钟", "Orders: numbers"),
        ("| `a | b` | 无 |\n", "", "Limits: rows"),
        ("- 二\n", "", "Limits: items"),
        ("- 一", "- 一\n\n多余的段落。\n", "Limits: paragraphs"),
    ],
)
def test_a_part_that_differs_from_the_twin_is_reported_with_its_section(old: str, new: str, part: str) -> None:
    assert old in CHINESE
    assert part in drift(CHINESE.replace(old, new))


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("使用Go测试", "no space"),
        ("使用`go`测试", "no space"),
        ("第一,第二", "half-width"),
        ("消费者分组(group)", "half-width"),
        ("消费者分组 (group)", "half-width"),
        ("完成.", "half-width"),
        ("完成， 然后", "a space"),
        ("使用 Go ，然后", "a space"),
        ("第一行\n第二行", "a line break"),
    ],
)
def test_a_mistake_of_typesetting_is_reported(text: str, rule: str) -> None:
    assert {re.split(r":| between| punctuation|, which| beside", each)[0] for each in typesetting(text)} == {rule}


def test_correct_typesetting_is_accepted() -> None:
    text = "# 测试 Go 项目\n\n运行 `go test`（见 [CI](ci.md)），然后结束。\n\n- 第一项；\n- 二：3 个\n\n| 调用 |\n"
    assert [*typesetting(text)] == []
