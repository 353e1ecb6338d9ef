"""Podman's service, which Testcontainers uses, with an image of the executable and a storage of its own.

It runs in a mount namespace with a cgroup file system of its own version, because containers here have no cgroups and
keep the limits of this process: crun refuses both the mixed version and higher limits.
"""

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

LIBRARIES = ("libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "libz.so.1")
"""Libraries of the system that the collected program loads, in the folder of the C library."""
CONTAINERS = """\
[containers]
cgroups = "disabled"
cgroupns = "host"
default_ulimits = ["nofile=1024:1024", "nproc=1000:1000"]
[engine]
runtime = "crun"
cgroup_manager = "cgroupfs"
events_logger = "file"
"""
STORAGE = """\
[storage]
driver = "vfs"
graphroot = "{folder}/graph"
runroot = "{folder}/run"
"""
SERVE = """
umount -R /sys/fs/cgroup
mount -t cgroup2 none /sys/fs/cgroup
entry='ENTRYPOINT ["/opt/rocketmq-emulator/rocketmq-emulator", "--host", "0.0.0.0"]'
tar -C "$1/root" -c . | podman import --quiet --change "$entry" - rocketmq-emulator
exec podman system service --time 0 "unix://$1/podman.sock"
"""
START_SECONDS_MAX = 60


def loader_and_libraries(executable: Path) -> tuple[Path, Path]:
    """Return the loader of an executable, and the folder of its C library, which depend on the architecture."""
    printed = subprocess.run(["ldd", executable], capture_output=True, text=True, check=True).stdout
    [loader] = re.findall(r"^\s*(/\S+) \(", printed, re.MULTILINE)
    [library] = re.findall(r"^\s*libc\.so\.6 => (/\S+) \(", printed, re.MULTILINE)
    return Path(loader), Path(library).parent


def make_root(program: Path, root: Path) -> None:
    """Make a root of the collected program and the C library of this machine, without a shell and without Python."""
    shutil.copytree(program, root / "opt" / "rocketmq-emulator", symlinks=True)
    loader, libraries = loader_and_libraries(program / "rocketmq-emulator")
    (root / "tmp").mkdir()
    for file in (loader, *(libraries / name for name in LIBRARIES)):
        target = root / file.relative_to("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
        target.chmod(0o755)


@contextmanager
def podman_service(program: Path, folder: Path) -> Iterator[Mapping[str, str]]:
    """Serve until the end of the block. Yields the environment variables for Testcontainers."""
    make_root(program, folder / "root")
    (folder / "containers.conf").write_text(CONTAINERS)
    (folder / "storage.conf").write_text(STORAGE.format(folder=folder))
    socket = folder / "podman.sock"
    variables = {
        "CONTAINERS_CONF": str(folder / "containers.conf"),
        "CONTAINERS_STORAGE_CONF": str(folder / "storage.conf"),
    }
    words = ["unshare", "--mount", "sh", "-euc", SERVE, "sh", str(folder)]
    with subprocess.Popen(words, env={**os.environ, **variables}, stdin=subprocess.DEVNULL) as service:
        try:
            deadline = time.monotonic() + START_SECONDS_MAX
            while not socket.exists():
                assert service.poll() is None, f"podman ended with {service.returncode}"
                assert time.monotonic() < deadline, "podman does not serve"
                time.sleep(0.05)
            yield {
                "DOCKER_HOST": f"unix://{socket}",
                # Its container needs an image from a registry, and the service ends with the test anyway.
                "TESTCONTAINERS_RYUK_DISABLED": "true",
                # Testcontainers for Python must not look for a gateway if this machine is itself a container.
                "TESTCONTAINERS_CONNECTION_MODE": "docker_host",
            }
        finally:
            service.terminate()
