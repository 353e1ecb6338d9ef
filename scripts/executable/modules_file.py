"""Put the compiled modules of a collected program into one file, from which `modules_hook.py` imports them.

One file is unpacked, compared and read more quickly than 1,400. It has the code of all modules, then an index, and in
its last 8 bytes the size of the index. The index is a marshalled dictionary from the name of a module to the path that
it would have as a file, and the offset and the size of its code.
"""

import marshal
from pathlib import Path

NAME = "modules"
HEADER_BYTES = 16
"""Length of the header of a compiled module: it has the number of the format, flags, and the time of the source."""
STAY = ("encodings",)
"""Packages that the interpreter needs before it runs the hook. Their modules stay files of their own."""


def pack(folder: Path) -> None:
    """Move the modules of `folder`, which PyInstaller names `_internal`, into `folder/modules`."""
    index: dict[str, tuple[str, int, int]] = {}
    parts: list[bytes] = []
    end = 0
    for file in sorted(folder.rglob("*.pyc")):
        path = file.relative_to(folder)
        if path.parts[0] in STAY:
            continue
        words = path.with_suffix("").parts
        name = ".".join(words[:-1] if words[-1] == "__init__" else words)
        code = file.read_bytes()[HEADER_BYTES:]
        index[name] = (path.as_posix(), end, len(code))
        parts.append(code)
        end += len(code)
        file.unlink()
    head = marshal.dumps(index)
    (folder / NAME).write_bytes(b"".join([*parts, head, len(head).to_bytes(8, "big")]))
    for each in sorted(folder.rglob("*"), reverse=True):
        if each.is_dir() and not any(each.iterdir()):
            each.rmdir()
