"""Generate the `_pb2.py` and `_pb2.pyi` files of this folder from its `.proto` files.

    python -m venv /tmp/protoc && /tmp/protoc/bin/pip install 'grpcio-tools==1.60.1' 'setuptools<81'
    /tmp/protoc/bin/python grpc_v2/proto/generate.py

Run it in the root of the repository. grpcio-tools 1.60 imports pkg_resources, which newer versions of setuptools lack.
Generated code runs with the protobuf version of its protoc and with newer versions, but not with older ones.
grpcio-tools 1.60 contains protoc 25, whose code runs with protobuf 4.25 to 7. This package supports protobuf from 4.25
(`pyproject.toml`), so the files must not come from a newer protoc.
"""

import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

GRPCIO_TOOLS_VERSION = "1.60.1"
HERE = Path(__file__).resolve().parent
FILES = ("definition", "service", "admin")


def generate(target: Path) -> list[Path]:
    """Write the generated files to `rocketmq_testkit/grpc_v2/proto` in the folder `target`, and return their paths.

    Raises RuntimeError if protoc fails; protoc prints the reason to standard error.
    """
    # Imported here, after `main` has refused other versions.
    import grpc_tools
    from grpc_tools import protoc

    with tempfile.TemporaryDirectory() as scratch:
        # protoc derives the names in import statements from the paths of the .proto files, so that these must match
        # the installed package, rocketmq_testkit.grpc_v2.proto.
        package = Path(scratch) / "rocketmq_testkit" / "grpc_v2"
        package.mkdir(parents=True)
        (package / "proto").symlink_to(HERE)
        well_known = Path(grpc_tools.__file__).parent / "_proto"
        sources = [f"rocketmq_testkit/grpc_v2/proto/{name}.proto" for name in FILES]
        options = [f"-I{scratch}", f"-I{well_known}", f"--python_out={target}", f"--pyi_out={target}"]
        if protoc.main(["protoc", *options, *sources]) != 0:
            raise RuntimeError("protoc rejected the .proto files")
    folder = target / "rocketmq_testkit" / "grpc_v2" / "proto"
    return [folder / f"{name}_pb2.{suffix}" for name in FILES for suffix in ("py", "pyi")]


def main() -> int:
    """Generate the files in this folder and return 0; return 2 if grpcio-tools has another version.

    Raises PackageNotFoundError if grpcio-tools is not installed.
    """
    installed = version("grpcio-tools")
    if installed != GRPCIO_TOOLS_VERSION:
        print(f"grpcio-tools {installed} is installed; install {GRPCIO_TOOLS_VERSION}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as scratch:
        for path in generate(Path(scratch)):
            (HERE / path.name).write_text(path.read_text())
    return 0


if __name__ == "__main__":
    sys.exit(main())
