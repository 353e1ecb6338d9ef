"""Builds and serves the documentation site.

    python scripts/website.py build
    python scripts/website.py serve

Both collect the Markdown pages in `build/docs`, with those that exist on the site alone: the lists of behaviors, the
operations, the options and the Python API. `build` writes HTML to `build/site`, checks every link, anchor and entry of
the navigation, and exits with code 1 if one is wrong. `serve` shows the site on http://127.0.0.1:8000 and follows
changes until Ctrl-C; its tables are wider, because docs_site/finish.py changes the HTML of `build` alone.
"""

import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pages
from docs_site import api_page, checks, finish, operations_page, options_page, sources
from rocketmq_testkit.conformance.outcomes.recorded_outcomes import RecordedOutcomes
from rocketmq_testkit.conformance.pages import behavior_page, version_page

ROOT = Path(__file__).resolve().parent.parent
CONFIGURATION = ROOT / "mkdocs.yml"
MARKDOWN = ROOT / "build" / "docs"
SITE = ROOT / "build" / "site"
"""The folders of the Markdown pages and of the HTML; mkdocs.yml names both as well."""
LOOK_SECONDS = 1.0
"""Interval at which `serve` looks for changed pages."""


def generated() -> dict[str, str]:
    """The texts of the pages that exist on the site alone, by name. Raises CaseError."""
    records = RecordedOutcomes()
    found = {
        "operations.md": operations_page.page(),
        "command-options.md": options_page.page(),
        "api.md": api_page.page(),
        behavior_page.NAME: behavior_page.index(records, site=True),
    }
    for name, text in behavior_page.pages(records, pages.test_files()).items():
        found[f"{behavior_page.FOLDER}/{name}"] = text
    for version in version_page.versions(records):
        found[version_page.file_name(version)] = version_page.page(version, records)
    return found


def collect(made: dict[str, str]) -> dict[str, str]:
    """Write all pages to MARKDOWN and return their texts by name. Raises BrokenLink."""
    texts = sources.linked(sources.joined(sources.written(), sources.generated(made)))
    MARKDOWN.mkdir(parents=True, exist_ok=True)
    for path in MARKDOWN.rglob("*.md"):
        if path.relative_to(MARKDOWN).as_posix() not in texts:
            path.unlink()
    for name, text in texts.items():
        path = MARKDOWN / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_file() or path.read_text() != text:
            path.write_text(text)
    for folder in ("pictures", "style"):
        if (ROOT / "docs" / folder).is_dir():
            shutil.copytree(ROOT / "docs" / folder, MARKDOWN / folder, dirs_exist_ok=True)
    return texts


def program() -> str:
    """The program that renders the site, from the environment of this Python."""
    return str(Path(sys.executable).with_name("zensical"))


def build() -> int:
    """Build the site and print what is wrong with it; the exit code is 1 if anything is."""
    begin = time.monotonic()
    texts = collect(generated())
    found = list(checks.unlisted(CONFIGURATION.read_text(), texts))
    shutil.rmtree(SITE, ignore_errors=True)
    done = subprocess.run([program(), "build", "--strict", "--config-file", CONFIGURATION], cwd=ROOT, check=False)
    if done.returncode != 0:
        found.append(f"{program()} ended with code {done.returncode}")
    finish.finish(SITE)
    found += checks.problems(SITE)
    for problem in found:
        print(problem)
    print(f"{len(texts)} pages in {SITE.relative_to(ROOT)}, {len(found)} problems, {time.monotonic() - begin:.1f} s")
    return 1 if found else 0


def serve() -> int:
    """Serve the site until Ctrl-C; the pages of docs/ are collected again when one of them changes."""
    made = generated()
    collect(made)
    server = subprocess.Popen([program(), "serve", "--config-file", CONFIGURATION], cwd=ROOT)
    try:
        while server.poll() is None:
            time.sleep(LOOK_SECONDS)
            try:
                collect(made)
            except sources.BrokenLink as broken:
                print(broken, flush=True)
    except KeyboardInterrupt:
        server.terminate()
    return server.wait()


def main(words: Sequence[str]) -> int:
    """Run the command; the exit code is 2 if there is no such command."""
    commands = {"build": build, "serve": serve}
    if len(words) != 1 or words[0] not in commands:
        print(__doc__, file=sys.stderr)
        return 2
    return commands[words[0]]()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
