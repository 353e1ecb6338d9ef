"""How every Go program here is built: one static program from the modules that go.sum pins."""

from pathlib import Path

from .recipe import Launch, Tool, Workshop

GO_TOOLS = (Tool("go", "install Go, version 1.24 or newer (https://go.dev/dl)"),)
COMMON = Path(__file__).parent / "go_common"


def build_driver(workshop: Workshop) -> None:
    """Compile the folder's program, ``go_common`` included, into ``driver``."""
    workshop.run(
        "go",
        "build",
        "-mod=readonly",
        "-trimpath",
        "-buildvcs=false",
        "-o",
        workshop.target / "driver",
        ".",
        # The module names ../go_common, so it is built where it stands; nothing is written there.
        cwd=workshop.source,
        env={"GOTOOLCHAIN": "local", "GOWORK": "off", "GOFLAGS": ""},
    )


def words(launch: Launch) -> list[str]:
    """The words that start the program."""
    return [str(launch.built / "driver")]
