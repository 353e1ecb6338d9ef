"""Rooms: parts of the code that have a score of their own."""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

GENERATED = "grpc_v2/proto/"


class Rooms:
    """Maps source files to rooms, as a TOML file lists them: files, or folders for all files in them."""

    def __init__(self, rooms: Mapping[str, Sequence[str]]) -> None:
        self.names = list(rooms)
        self._places = {place: room for room, places in rooms.items() for place in places}

    @property
    def tops(self) -> list[str]:
        """The top-level folders of all rooms."""
        return sorted({place.split("/")[0] for place in self._places})

    @classmethod
    def read(cls, file: Path) -> "Rooms":
        """Read a file with one table `rooms`."""
        return cls(tomllib.loads(file.read_text())["rooms"])

    def of(self, file: str) -> str | None:
        """Return the room of a file: the one that lists it, else that of the nearest folder; None if there is none."""
        path = Path(file)
        return next((self._places[str(each)] for each in (path, *path.parents) if str(each) in self._places), None)

    def files(self, root: Path, wanted: Iterable[str] = ()) -> list[str]:
        """Return all source files of rooms, or only those of the requested rooms, folders and files.

        Raises ValueError for a name that is neither a room nor a place in one.
        """
        found = sorted(
            str(path.relative_to(root))
            for top in self.tops
            for path in (root / top).rglob("*.py")
            if not str(path.relative_to(root)).startswith(GENERATED)
        )
        listed = [file for file in found if self.of(file) is not None]
        chosen = list(wanted)
        if not chosen:
            return listed
        for word in chosen:
            if not any(self._is_meant(word, file) for file in listed):
                known = ", ".join(self.names)
                raise ValueError(f"{word} is no room and no file of one; the rooms are {known}")
        return [file for file in listed if any(self._is_meant(word, file) for word in chosen)]

    def _is_meant(self, word: str, file: str) -> bool:
        return word in (file, self.of(file)) or file.startswith(f"{word.rstrip('/')}/")
