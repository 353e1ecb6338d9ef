"""Builds the Go drivers: each is one static program from the modules pinned in go.sum."""

from pathlib import Path

from .recipe import BuildFolders, Launch, Tool

GO_TOOLS = (Tool("go", "install Go, version 1.24 or newer (https://go.dev/dl)"),)
COMMON = Path(__file__).parents[1] / "go_common"


def build_driver(folders: BuildFolders) -> None:
    """Compile the folder's program, including ``go_common``, into ``driver``."""
    folders.run(
        "go",
        "build",
        "-mod=readonly",
        "-trimpath",
        "-buildvcs=false",
        "-o",
        folders.target / "driver",
        ".",
        # The module refers to ../go_common, so it is built in place; nothing is written there.
        cwd=folders.source,
        env={"GOTOOLCHAIN": "local", "GOWORK": "off", "GOFLAGS": ""},
    )


def words(launch: Launch) -> list[str]:
    """Return the command line that starts the program."""
    return [str(launch.built / "driver")]
