"""Conformance tests written in Go by other projects, built from published modules with the Go toolchain.

Each is built once into `$ROCKETMQ_TESTKIT_CACHE/go-tools` (by default `~/.cache/rocketmq-testkit/go-tools`), in a
folder named after the tool, its version and a hash of its recipe. Go's own cache compiles a package once for tools and
SDK drivers, if flags and versions are the same.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Final

_BUILD_TIMEOUT_S = 600
_FLAGS = ("-trimpath", "-buildvcs=false")
"""Those of the SDK drivers. With others, the standard library is compiled again: 40 s of processor time."""


@dataclass(frozen=True)
class GoTool:
    """A command of a published module, or one of a `main` of our own with packages of the module.

    `pins` are (module, version) of dependencies that the module does not pin itself, or pins to an older version.
    """

    name: str
    package: str
    module: str
    version: str
    _: KW_ONLY
    go: str
    pins: tuple[tuple[str, str], ...] = ()
    main: Path | None = None

    @property
    def folder(self) -> str:
        """The name of the folder of its build. It changes with all that the build depends on."""
        source = b"" if self.main is None else self.main.read_bytes()
        recipe = hashlib.sha256(f"{self.package} {self.go} {self.pins} {_FLAGS}".encode() + source)
        return f"{self.name}-{self.version}-{recipe.hexdigest()[:12]}"

    @property
    def requirements(self) -> str:
        """The modules of the build, a line each, as `go.mod` lists them."""
        return "".join(f"\t{module} {version}\n" for module, version in ((self.module, self.version), *self.pins))


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
    package=".",
    module="google.golang.org/grpc",
    version="v1.72.0",
    go="1.24",
    # The versions of the SDK driver go_grpc, which has compiled their packages if it was built here.
    pins=(
        ("golang.org/x/net", "v0.39.0"),
        ("golang.org/x/sys", "v0.32.0"),
        ("golang.org/x/text", "v0.24.0"),
        ("google.golang.org/genproto/googleapis/rpc", "v0.0.0-20250422160041-2d3770c4ea7f"),
        ("google.golang.org/protobuf", "v1.36.6"),
    ),
    main=Path(__file__).with_name("interop_client") / "main.go",
)


def built(tool: GoTool) -> Path:
    """Return the path of a tool; build it if it is missing. Raises CalledProcessError with the compiler's output."""
    cache = Path(os.environ.get("ROCKETMQ_TESTKIT_CACHE") or Path.home() / ".cache" / "rocketmq-testkit")
    folder = cache / "go-tools" / tool.folder
    folder.mkdir(parents=True, exist_ok=True)
    binary = folder / tool.name
    with (folder / "lock").open("w") as lock:
        # Workers of one test run may build the same tool at the same time.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not binary.exists():
            _build(tool, binary)
    return binary


def _build(tool: GoTool, binary: Path) -> None:
    environment = {**os.environ, "GOFLAGS": "-mod=mod"}
    with tempfile.TemporaryDirectory() as work:
        Path(work, "go.mod").write_text(f"module judge\n\ngo {tool.go}\n\nrequire (\n{tool.requirements})\n")
        if tool.main is not None:
            shutil.copy(tool.main, work)
        fresh = Path(work, tool.name)
        subprocess.run(
            ["go", "build", *_FLAGS, "-o", str(fresh), tool.package],
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
