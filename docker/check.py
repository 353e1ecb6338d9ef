"""Build the sidecar's image without a container engine, run it, and measure its size, speed and memory.

    python docker/check.py [--client PROGRAM ARGS...]
    python docker/check.py --base

Needs root, buildah, debootstrap and iproute2. The image is built from the unchanged Dockerfile. Its base image is made
once with debootstrap under the FROM name and kept in the cache. With --base the script only makes the base, or waits
until another process has made it. The container gets a network namespace of its own, so that the default ports are
free. When it is healthy, the command in the image sends a message. Then PROGRAM runs in the same namespace, with the
ready line in ROCKETMQ_READY and its parts in ROCKETMQ_NAMESRV, ROCKETMQ_BROKER, ROCKETMQ_ENDPOINT and ROCKETMQ_CONTROL.
At last the program starts with a read-only root. The exit code is 0 if every step succeeded. The figures are printed as
one line of JSON.
"""

import argparse
import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parent.parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rocketmq-testkit" / "docker"
IMAGE = "rocketmq-emulator:check"
SUITE = "bookworm"
PIP_CONFIGURATIONS = (Path.home() / ".config/pip/pip.conf", Path.home() / ".pip/pip.conf", Path("/etc/pip.conf"))
CA_BUNDLE = Path("/etc/ssl/certs/ca-certificates.crt")
READY_SECONDS_MAX = 1.0
"""Longest time from the start of the emulator's process to its ready line."""
STARTS = 3
"""Number of starts, of which the quickest counts."""
STOP_SECONDS_MAX = 1.0
TOPIC = "sidecar-check"
READ_ONLY = """
mount --bind "$1" "$1"
mount -o remount,ro,bind "$1"
mount -t tmpfs tmpfs "$1/tmp"
shift
exec "$@"
"""
"""Run a program in a mount namespace in which a folder is read-only, except for a tmpfs on its /tmp."""
HEALTHY_WITHIN_SECONDS = 30.0
NOT_IN_SLIM = (
    "usr/share/doc",
    "usr/share/man",
    "usr/share/locale",
    "usr/share/info",
    "var/cache/apt",
    "var/lib/apt/lists",
)
ADDRESSES = ("namesrv", "broker", "endpoint", "control")


class CheckFailed(Exception):
    """A check failed; the text names the reason."""


def run(*words: str, quiet: bool = False) -> str:
    """Run a program to its end and return its output; its error output is shown."""
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise CheckFailed(f"{' '.join(words[:3])} ended with {done.returncode}\n{'' if quiet else done.stdout}")
    return done.stdout


class Buildah:
    """buildah with its own storage in the cache."""

    def __init__(self) -> None:
        self._runroot = tempfile.mkdtemp(prefix="rocketmq-testkit-buildah-")
        root = CACHE / "containers"
        root.mkdir(parents=True, exist_ok=True)
        self._words = ["buildah", "--root", str(root), "--runroot", self._runroot, "--storage-driver", "vfs"]

    def __call__(self, *words: str) -> str:
        return run(*self.command(*words))

    def command(self, *words: str) -> list[str]:
        """Return the words of a buildah command."""
        return [*self._words, *words]

    def has_image(self, name: str) -> bool:
        """Return True if the storage holds an image."""
        asked = self.command("inspect", "--type", "image", name)
        return subprocess.run(asked, capture_output=True, check=False).returncode == 0

    def close(self) -> None:
        """Delete the temporary files of this process."""
        shutil.rmtree(self._runroot, ignore_errors=True)


def base_name() -> str:
    """Return the name of the Dockerfile's base image."""
    found = re.search(r"^ARG DEBIAN=(\S+)$", (PROJECT / "Dockerfile").read_text(), re.MULTILINE)
    if found is None:
        raise CheckFailed("the Dockerfile names no base: expected a line ARG DEBIAN=...")
    return found[1]


def make_base(buildah: Buildah, name: str) -> None:
    """Make an image of Debian's minimal system, without the files that Debian's slim images omit."""
    say(f"making the base image {name} with debootstrap; the cache keeps it")
    with tempfile.TemporaryDirectory(prefix="rocketmq-testkit-base-", dir=CACHE) as folder:
        system = Path(folder) / "system"
        run("debootstrap", "--variant=minbase", SUITE, str(system), quiet=True)
        for part in NOT_IN_SLIM:
            for found in (system / part).glob("*"):
                shutil.rmtree(found) if found.is_dir() and not found.is_symlink() else found.unlink()
        container = buildah("from", "scratch").strip()
        buildah("copy", "--quiet", container, str(system), "/")
        buildah("config", "--cmd", "bash", container)
        buildah("commit", "--quiet", "--rm", "--format", "docker", container, f"docker.io/library/{name}")


def build(buildah: Buildah) -> float:
    """Build the image from the Dockerfile; return the seconds that it took."""
    if buildah.has_image(IMAGE):
        buildah("rmi", "--force", IMAGE)
    secrets = [f"id=ca_bundle,src={CA_BUNDLE}"] if CA_BUNDLE.exists() else []
    secrets += [f"id=pip_conf,src={path}" for path in PIP_CONFIGURATIONS if path.exists()][:1]
    begin = time.monotonic()
    buildah(
        "build", "--quiet", "--isolation", "chroot", "--network", "host", "--format", "docker", "--pull-never",
        *(word for secret in secrets for word in ("--secret", secret)), "--tag", IMAGE, str(PROJECT),
    )  # fmt: skip
    return time.monotonic() - begin


class Network:
    """A network namespace with only a loopback device."""

    def __init__(self) -> None:
        self.name = f"rmqtk-check-{os.getpid()}"
        run("ip", "netns", "add", self.name)
        run("ip", "-n", self.name, "link", "set", "lo", "up")

    def command(self, *words: str) -> list[str]:
        """Return a command that runs inside the namespace."""
        return ["ip", "netns", "exec", self.name, *words]

    def close(self) -> None:
        """Delete the namespace."""
        subprocess.run(["ip", "netns", "del", self.name], check=False)


class Container:
    """A container of the image, run with the image's configuration."""

    def __init__(self, buildah: Buildah, network: Network) -> None:
        self._buildah = buildah
        self._network = network
        self._process: subprocess.Popen[str] | None = None
        self.name = buildah("from", "--pull-never", IMAGE).strip()
        self.config: dict[str, Any] = json.loads(buildah("inspect", self.name))["Docker"]["config"]
        self.ready: dict[str, Any] = {}

    def start(self) -> float:
        """Start the container and read the ready line; return the age of the emulator's process in seconds."""
        entry = [*self.config["Entrypoint"], *(self.config.get("Cmd") or ())]
        self._process = process = subprocess.Popen(self.command(*entry), stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise CheckFailed(f"the container ended with {process.wait(10)} before it was ready")
        self.ready = json.loads(line)
        return _age_seconds(self.emulator_pid())

    def command(self, *words: str) -> list[str]:
        """Return a command that runs inside the container and its network namespace."""
        return self._network.command(
            *self._buildah.command("run", "--isolation", "chroot", "--network", "host", self.name, "--", *words)
        )

    def start_read_only(self) -> None:
        """Start the program as the image's user with a read-only root and a tmpfs on /tmp, and stop it."""
        root = self._buildah("mount", self.name).strip()
        users, words = self.config["User"], self.config["Entrypoint"]
        path = next(each for each in self.config["Env"] if each.startswith("PATH="))
        command = ["chroot", f"--userspec={users}", root, "env", "-i", path]
        outside = ["unshare", "--mount", "sh", "-euc", READ_ONLY, "sh", root, *command]
        written = subprocess.run([*outside, "touch", "/opt/file"], capture_output=True, text=True, check=False)
        if "Read-only file system" not in written.stderr:
            raise CheckFailed(f"the root is not read-only: {written.stderr}")
        with subprocess.Popen(self._network.command(*outside, *words), stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            line = process.stdout.readline()
            process.terminate()
            if process.wait(20) != 0 or not line:
                raise CheckFailed(f"with a read-only root the emulator ended with {process.returncode}")
        self._buildah("umount", self.name)

    def wait_until_healthy(self) -> float:
        """Run the image's own health check until it succeeds; return the seconds of the last check."""
        check = self.config["Healthcheck"]["Test"]
        if check[0] != "CMD":
            raise CheckFailed(f"the health check is {check}, expected a command")
        deadline = time.monotonic() + HEALTHY_WITHIN_SECONDS
        while time.monotonic() < deadline:
            begin = time.monotonic()
            if subprocess.run(self.command(*check[1:]), check=False).returncode == 0:
                return time.monotonic() - begin
            time.sleep(0.1)
        raise CheckFailed(f"not healthy within {HEALTHY_WITHIN_SECONDS:g} s")

    def emulator_pid(self) -> int:
        """Return the id of the emulator's process, a descendant of buildah's process."""
        assert self._process is not None
        for pid in _descendants(self._process.pid):
            if os.readlink(f"/proc/{pid}/exe").endswith("/rocketmq-emulator"):
                return pid
        raise CheckFailed("there is no process of the emulator")

    def stop(self) -> tuple[int, float]:
        """Send SIGTERM to the emulator; return the exit code and the seconds until its end."""
        assert self._process is not None
        begin = time.monotonic()
        os.kill(self.emulator_pid(), signal.SIGTERM)
        code = self._process.wait(20)
        return code, time.monotonic() - begin

    def close(self) -> None:
        """Kill its processes and remove the container."""
        if self._process is not None and self._process.poll() is None:
            for pid in (*reversed(_descendants(self._process.pid)), self._process.pid):
                os.kill(pid, signal.SIGKILL)
            self._process.wait(10)
        self._buildah("rm", self.name)


def _age_seconds(pid: int) -> float:
    """Return the age of a process in seconds, exact to a hundredth of a second."""
    started_ticks = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    uptime = float(Path("/proc/uptime").read_text().split()[0])
    return uptime - started_ticks / os.sysconf("SC_CLK_TCK")


def _descendants(pid: int) -> list[int]:
    parents: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            continue
    found, pending = [], [pid]
    while pending:
        parent = pending.pop()
        children = [child for child, of in parents.items() if of == parent]
        found += children
        pending += children
    return found


def _status(pid: int, name: str) -> list[str]:
    text = Path(f"/proc/{pid}/status").read_text()
    return next(line.split()[1:] for line in text.splitlines() if line.startswith(f"{name}:"))


def compressed_megabytes(buildah: Buildah) -> float:
    """Return the size of the image's layers as a registry stores them: compressed with gzip."""
    with tempfile.TemporaryDirectory(prefix="rocketmq-testkit-layers-", dir=CACHE) as folder:
        buildah("push", "--quiet", IMAGE, f"oci:{folder}/layout:check")
        return round(sum(each.stat().st_size for each in Path(folder).rglob("blobs/*/*")) / 1e6, 1)


def check(buildah: Buildah, network: Network, client: Sequence[str]) -> dict[str, Any]:
    """Run the image and measure it. Raises CheckFailed."""
    size = json.loads(buildah("images", "--json", IMAGE))[0]["size"]
    compressed = compressed_megabytes(buildah)
    container = Container(buildah, network)
    try:
        ready_seconds = container.start()
        for _ in range(STARTS - 1):
            container.stop()
            ready_seconds = min(ready_seconds, container.start())
        health_seconds = container.wait_until_healthy()
        pid = container.emulator_pid()
        user = int(_status(pid, "Uid")[0])
        if user == 0:
            raise CheckFailed("the emulator runs as root")
        memory_mib = round(int(_status(pid, "VmRSS")[0]) / 1024, 1)
        ready = container.ready
        control = ("--control", ready["control"])
        run(*container.command("rocketmq-emulator", "topics", "create", TOPIC, *control))
        run(*container.command("rocketmq-emulator", "messages", "send", TOPIC, "--text", "sent", *control))
        if client:
            parts = {f"ROCKETMQ_{name.upper()}": str(ready[name]) for name in ADDRESSES}
            environment = {**os.environ, **parts, "ROCKETMQ_READY": json.dumps(ready)}
            code = subprocess.run(network.command(*client), env=environment, check=False).returncode
            if code != 0:
                raise CheckFailed(f"{client[0]} ended with {code}")
        exit_code, stop_seconds = container.stop()
        if exit_code != 0:
            raise CheckFailed(f"after SIGTERM the emulator ended with {exit_code}")
        container.start_read_only()
    finally:
        container.close()
    figures = {
        "image": size,
        "compressed_mb": compressed,
        "ready_seconds": round(ready_seconds, 2),
        "health_check_seconds": round(health_seconds, 3),
        "idle_memory_mib": memory_mib,
        "stop_seconds": round(stop_seconds, 3),
        "user": user,
    }
    if ready_seconds > READY_SECONDS_MAX or stop_seconds > STOP_SECONDS_MAX:
        raise CheckFailed(f"too slow: {json.dumps(figures)}")
    return figures


def say(text: str) -> None:
    """Print progress to standard error."""
    print(text, file=sys.stderr, flush=True)


def main() -> int:
    """Run the command; return 0 on success."""
    parser = argparse.ArgumentParser(description="Build, run and measure the image of the sidecar.")
    parser.add_argument("--client", nargs=argparse.REMAINDER, default=[], help="run this program against the emulator")
    parser.add_argument("--base", action="store_true", help="build only the base image")
    options = parser.parse_args()
    for program in ("buildah", "debootstrap", "ip"):
        if shutil.which(program) is None:
            say(f"{program} is missing; on Debian: apt-get install buildah debootstrap iproute2")
            return 2
    if os.geteuid() != 0:
        say("root is needed, to make a base system and a network namespace")
        return 2
    CACHE.mkdir(parents=True, exist_ok=True)
    buildah = Buildah()
    try:
        base = base_name()
        with (CACHE / "base.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not buildah.has_image(f"docker.io/library/{base}"):
                make_base(buildah, base)
        if options.base:
            return 0
        build_seconds = build(buildah)
        network = Network()
        try:
            figures = check(buildah, network, options.client)
        finally:
            network.close()
        print(json.dumps({**figures, "build_seconds": round(build_seconds, 1)}))
    except CheckFailed as failure:
        say(f"docker/check.py: {failure}")
        return 1
    finally:
        buildah.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
