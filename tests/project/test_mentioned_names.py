"""Names of code in pages for contributors, docstrings and comments: each exists in the sources."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("ARCHITECTURE.md", "CONTRIBUTING.md", "bench/README.md", "bench/profile.md")
SOURCES = {".py", ".js", ".mjs", ".ts", ".java", ".go", ".rs", ".proto", ".toml", ".yml", ".yaml", ".json", ".jinja"}
FOREIGN = {"handshake_failure"}
"""Names of other specifications: an alert of TLS."""
MENTION = re.compile(r"(?<!`)`([A-Za-z_][\w.]*)(?:\(\))?`(?!`)")
WORD = re.compile(r"[A-Za-z_]\w*")


def tracked() -> list[str]:
    """Return the files of the repository."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def known_words(files: list[str]) -> set[str]:
    """Return the words of all sources outside backquotes, and the parts of all file names."""
    known = FOREIGN | {word for name in files for word in WORD.findall(name)}
    for name in files:
        if Path(name).suffix in SOURCES:
            text = (ROOT / name).read_text()
            known.update(WORD.findall(MENTION.sub(" ", text) if name.endswith(".py") else text))
    return known


def unknown_names(text: str, known: set[str]) -> list[str]:
    """Return the names in backquotes that contain an underscore and a word that is not known.

    A name without an underscore may be upstream's. A name that ends with a dot or an underscore is the start of names.
    """
    return [
        name
        for name in MENTION.findall(text)
        if "_" in name and not name.endswith((".", "_")) and not known.issuperset(WORD.findall(name))
    ]


def test_each_name_of_code_in_backquotes_exists_in_the_sources() -> None:
    """A renamed function, class or constant is renamed in pages and docstrings as well."""
    files = tracked()
    known = known_words(files)
    readers = [*PAGES, *(name for name in files if name.endswith(".py") and not name.endswith("_pb2.py"))]
    found = {name: unknown for name in readers if (unknown := unknown_names((ROOT / name).read_text(), known))}
    assert found == {}


def test_a_name_that_exists_nowhere_is_reported() -> None:
    assert unknown_names("`one_name` of `other_name`, `Upstream`, `FLAG_...`", {"one_name"}) == ["other_name"]
