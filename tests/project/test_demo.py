"""`make demo`, the first command of the README, in a new clone."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MINUTES = 10


def test_make_demo_passes_in_a_new_clone(tmp_path: Path) -> None:
    """`make demo` creates its environment, installs only the requirements of the example, and its tests pass.

    `make test` runs the tests of the example only here.
    """
    clone, home = tmp_path / "clone", tmp_path / "home"
    home.mkdir()
    subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", str(ROOT), str(clone)], check=True)
    # A newcomer's environment does not have this run's settings, except for the sources of packages.
    kept = ("PATH", "LANG", "LC_ALL", "PYTHON", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")
    environment = {name: os.environ[name] for name in kept if name in os.environ}
    environment |= {name: value for name, value in os.environ.items() if name.startswith("PIP_") or "proxy" in name}
    path = [folder for folder in environment["PATH"].split(os.pathsep) if ".venv" not in folder]
    environment |= {"HOME": str(home), "PATH": os.pathsep.join(path)}

    done = subprocess.run(
        ["make", "demo"], cwd=clone, env=environment, capture_output=True, text=True, timeout=60 * MINUTES, check=False
    )

    assert done.returncode == 0, done.stdout + done.stderr
    *_, last = done.stdout.strip().splitlines()
    assert " passed in " in last
    assert not any(word in last for word in ("failed", "error", "skipped"))
    installed = {each.name.partition("-")[0].lower() for each in clone.glob(".venv/lib/*/site-packages/*.dist-info")}
    assert installed >= {"twisted", "rocketmq_testkit", "pytest"}
    assert "mypy" not in installed
