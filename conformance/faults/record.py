"""The recorded reactions: one JSON file for each SDK, with its version, the emulator's version and the date."""

import json
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ..drivers.process import Fields
from .reaction import Cell, cell_of

FOLDER = Path(__file__).parents[1] / "recorded" / "faults"
PACKAGE = "rocketmq-testkit"


class ReactionRecord:
    """The recorded cells of all SDKs. Files are read on first use."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self._folder = folder
        self._files: dict[str, dict[str, Any]] = {}

    def about(self, sdk: str) -> Mapping[str, str]:
        """Return package, version, date and emulator of the last run with an SDK; empty if there was none."""
        return {name: value for name, value in self._file(sdk).items() if name != "cells"}

    def cell(self, sdk: str, kind: str) -> Cell | None:
        """Return the cell of an SDK and a kind of fault, None if it was never observed."""
        form = self._file(sdk)["cells"].get(kind)
        return None if form is None else cell_of(form)

    def kinds(self, sdk: str) -> list[str]:
        """Return the kinds that were observed with an SDK."""
        return list(self._file(sdk)["cells"])

    def put(self, sdk: str, hello: Fields, date: str, kind: str, *, cell: Cell) -> None:
        """Set a cell, and write the file of its SDK. `hello` is that of its driver, empty if the driver never ran."""
        cells = {**self._file(sdk)["cells"], kind: cell.form()}
        about = hello or self.about(sdk)
        self._files[sdk] = {
            "sdk": about["sdk"],
            "version": about["version"],
            "protocol": about["protocol"],
            "emulator": version(PACKAGE),
            "date": date,
            "cells": dict(sorted(cells.items())),
        }
        self._folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(self._files[sdk], indent=2)
        (self._folder / f"{sdk}.json").write_text(_with_short_lists(text) + "\n")

    def _file(self, sdk: str) -> dict[str, Any]:
        if sdk not in self._files:
            path = self._folder / f"{sdk}.json"
            self._files[sdk] = json.loads(path.read_text()) if path.is_file() else {"cells": {}}
        return self._files[sdk]


def _with_short_lists(text: str) -> str:
    """Return JSON with each list of numbers in one line."""
    lines: list[str] = []
    for line in text.splitlines():
        if (lines and lines[-1].endswith("[")) or (lines and "[" in lines[-1] and "]" not in lines[-1]):
            lines[-1] += line.strip().replace(",", ", ") if "]" not in line else line.strip()
        else:
            lines.append(line)
    return "\n".join(lines)
