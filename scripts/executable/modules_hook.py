"""Import the modules of the executable from the file that `modules_file.py` writes.

PyInstaller runs this hook before all others. At that time only frozen and built-in modules can be imported.
Extension modules and data stay files of their own: `__file__` and `__path__` of a module are the paths that it would
have as a file.
"""

import marshal
import os
import sys
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import SourcelessFileLoader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import CodeType, ModuleType

FOLDER: str = sys._MEIPASS  # type: ignore[attr-defined]  # PyInstaller sets it
LENGTH_BYTES = 8


class Loader(SourcelessFileLoader):
    """Loads one module: `at` is the offset and the size of its code."""

    def __init__(self, name: str, path: str, file: int, at: tuple[int, int]) -> None:
        super().__init__(name, path)
        self.file = file
        self.at = at

    def get_code(self, fullname: str) -> "CodeType":
        """Return the code of the module."""
        offset, size = self.at
        code: CodeType = marshal.loads(os.pread(self.file, size, offset))
        return code


class Finder:
    """Finds modules by the index of the file."""

    def __init__(self, path: str) -> None:
        self.file = os.open(path, os.O_RDONLY)
        end = os.stat(self.file).st_size - LENGTH_BYTES
        size = int.from_bytes(os.pread(self.file, LENGTH_BYTES, end), "big")
        self.index: dict[str, tuple[str, int, int]] = marshal.loads(os.pread(self.file, size, end - size))

    def find_spec(
        self, fullname: str, path: "Sequence[str] | None" = None, target: "ModuleType | None" = None
    ) -> ModuleSpec | None:
        """Return the specification of a module, or None if it is not in the file."""
        found = self.index.get(fullname)
        if found is None:
            return None
        file = f"{FOLDER}/{found[0]}"
        spec = ModuleSpec(fullname, Loader(fullname, file, self.file, found[1:]), origin=file)
        spec.has_location = True
        if file.endswith("/__init__.pyc"):
            spec.submodule_search_locations = [file.rpartition("/")[0]]
        return spec


sys.meta_path.insert(0, Finder(f"{FOLDER}/modules"))
