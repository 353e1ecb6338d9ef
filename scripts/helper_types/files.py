"""The generated files of the helpers, by their paths."""

from collections.abc import Mapping
from pathlib import Path

from . import go_types, java_types, node_types
from .shapes import ROOT, VIEWS, shapes

JAVA = Path("clients/java/src/main/java/io/github/rocketmqtestkit")


def generated() -> Mapping[Path, str]:
    """Return the content of each generated file by its path in the tree."""
    found = shapes()
    return {
        Path("clients/go/types.go"): go_types.source([each for each in found if each.name not in VIEWS], found),
        Path("clients/go/views.go"): go_types.source([each for each in found if each.name in VIEWS], found),
        Path("clients/node/types.d.ts"): node_types.declarations(found),
        Path("clients/node/src/shapes.js"): node_types.reading(found),
        **{JAVA / f"{shape.name}.java": java_types.source(shape, found) for shape in found},
    }


def write() -> None:
    """Write all files that differ."""
    for path, text in generated().items():
        file = ROOT / path
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")
