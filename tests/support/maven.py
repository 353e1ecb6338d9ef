"""Maven with a local repository of its own, which begins with the packages that this user has downloaded already."""

import os
import shutil
import xml.etree.ElementTree as ET
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import page_snippets

ROOT = Path(__file__).resolve().parents[2]
OWN_GROUP = Path("io") / "github" / "rocketmq-testkit"
"""The folder of this project's Java packages in a Maven repository."""


@dataclass(frozen=True)
class Maven:
    """Runs Maven with a local repository of its own, without packages of this project that were installed before."""

    local: Path

    @classmethod
    def create(cls, folder: Path) -> "Maven":
        """Link the packages of the user into a new local repository. Nothing is copied."""
        existing = _of_user()
        existing.mkdir(parents=True, exist_ok=True)
        shutil.copytree(existing, folder, copy_function=os.link, ignore=_own)
        return cls(folder)

    def keep_downloads(self) -> None:
        """Link new packages into the repository of the user, for the next run."""
        existing = _of_user()
        for place, folders, names in os.walk(self.local):
            here = Path(place).relative_to(self.local)
            if here == OWN_GROUP.parent and OWN_GROUP.name in folders:
                folders.remove(OWN_GROUP.name)
            (existing / here).mkdir(parents=True, exist_ok=True)
            for name in names:
                # Another worker may have linked it.
                with suppress(FileExistsError):
                    os.link(self.local / here / name, existing / here / name)

    def find_packed(self, repository: Path) -> tuple[str, ...]:
        """Return the options with which Maven finds this project's packages as published artifacts in a repository.

        Packing has installed them in the local repository too. They are removed there.
        """
        shutil.rmtree(self.local / OWN_GROUP)
        settings = repository.with_name("settings.xml")
        settings.write_text(
            "<settings><profiles><profile><id>packed</id><repositories><repository><id>packed</id>"
            f"<url>file://{repository}</url></repository></repositories></profile></profiles>"
            "<activeProfiles><activeProfile>packed</activeProfile></activeProfiles></settings>"
        )
        return ("-s", str(settings))

    def run(self, folder: Path, *words: str, **variables: str) -> str:
        """Run `mvn` in a folder and return its output. It must succeed."""
        return self.call(folder, "mvn", "-B", "-ntp", *words, **variables)

    def call(self, folder: Path, *words: str, **variables: str) -> str:
        """Run a program that may run Maven, and return its output. It must succeed."""
        return page_snippets.run(folder, *words, **{**self.variables, **variables}).stdout

    @property
    def variables(self) -> dict[str, str]:
        """The environment variables with which any Maven uses the local repository."""
        return {"MAVEN_OPTS": f"-Dmaven.repo.local={self.local} -XX:TieredStopAtLevel=1"}


def passed(folder: Path) -> list[str]:
    """Return the names of the tests of Maven's reports in a folder. All of them must have passed."""
    names = []
    for report in sorted((folder / "target" / "surefire-reports").glob("TEST-*.xml")):
        for case in ET.parse(report).getroot().iter("testcase"):
            assert [each.tag for each in case if each.tag in ("failure", "error", "skipped")] == []
            names.append(f"{case.get('classname')}.{case.get('name')}")
    return names


def _of_user() -> Path:
    return Path.home() / ".m2" / "repository"


def _own(folder: str, names: list[str]) -> set[str]:
    return {name for name in names if (Path(folder) / name).is_relative_to(_of_user() / OWN_GROUP)}
