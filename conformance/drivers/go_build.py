"""Builds the Go drivers: each is one static program from the modules pinned in go.sum."""

from pathlib import Path

from .recipe import Launch, Tool, Workshop

GO_TOOLS = (Tool("go", "install Go, version 1.24 or newer (https://go.dev/dl)"),)
COMMON = Path(__file__).parent / "go_common"


def build_driver(workshop: Workshop) -> None:
    """Compile the folder's program, including ``go_common``, into ``driver``."""
    workshop.run(
        "go",
        "build",
        "-mod=readonly",
        "-trimpath",
        "-buildvcs=false",
        "-o",
        workshop.target / "driver",
        ".",
        # The module refers to ../go_common, so it is built in place; nothing is written there.
        cwd=workshop.source,
        env={"GOTOOLCHAIN": "local", "GOWORK": "off", "GOFLAGS": ""},
    )


def words(launch: Launch) -> list[str]:
    """Return the command line that starts the program."""
    return [str(launch.built / "driver")]
