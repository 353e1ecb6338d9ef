"""Conformance tools written in Go by other projects, built from published modules with the Go toolchain.

Each is built once into `$ROCKETMQ_TESTKIT_CACHE/go-tools` (by default `~/.cache/rocketmq-testkit/go-tools`), in a
folder named after the tool and its version.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import tempfile
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Final

_BUILD_TIMEOUT_S = 600


@dataclass(frozen=True)
class GoTool:
    """A command of a published module. `pins` are (module, version) of dependencies that it does not pin itself."""

    name: str
    package: str
    module: str
    version: str
    _: KW_ONLY
    go: str
    pins: tuple[tuple[str, str], ...] = ()


H2SPEC: Final = GoTool(
    name="h2spec",
    package="github.com/summerwind/h2spec/cmd/h2spec",
    module="github.com/summerwind/h2spec",
    version="v2.2.1+incompatible",
    go="1.21",
    pins=(
        ("golang.org/x/net", "v0.30.0"),
        ("github.com/spf13/cobra", "v1.8.1"),
        ("github.com/fatih/color", "v1.17.0"),
    ),
)
INTEROP_CLIENT: Final = GoTool(
    name="interop-client",
    package="google.golang.org/grpc/interop/client",
    module="google.golang.org/grpc",
    version="v1.72.0",
    go="1.23",
)


def built(tool: GoTool) -> Path:
    """Return the path of a tool; build it if it is missing. Raises CalledProcessError with the compiler's output."""
    cache = Path(os.environ.get("ROCKETMQ_TESTKIT_CACHE") or Path.home() / ".cache" / "rocketmq-testkit")
    folder = cache / "go-tools" / f"{tool.name}-{tool.version}"
    folder.mkdir(parents=True, exist_ok=True)
    binary = folder / tool.name
    with (folder / "lock").open("w") as lock:
        # Workers of one test run may build the same tool at the same time.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not binary.exists():
            _build(tool, binary)
    return binary


def _build(tool: GoTool, binary: Path) -> None:
    requirements = "".join(f"\t{module} {version}\n" for module, version in ((tool.module, tool.version), *tool.pins))
    environment = {**os.environ, "GOFLAGS": "-mod=mod"}
    with tempfile.TemporaryDirectory() as work:
        Path(work, "go.mod").write_text(f"module judge\n\ngo {tool.go}\n\nrequire (\n{requirements})\n")
        fresh = Path(work, tool.name)
        subprocess.run(
            ["go", "build", "-o", str(fresh), tool.package],
            cwd=work,
            env=environment,
            check=True,
            timeout=_BUILD_TIMEOUT_S,
        )
        # Move it into place in one step, so that an interrupted build leaves no incomplete tool.
        staged = binary.with_suffix(".new")
        staged.write_bytes(fresh.read_bytes())
        staged.chmod(0o755)
        staged.replace(binary)
