"""Sign the Java packages that `make dist` has built, and deploy them. Nothing is built again.

    python scripts/deploy_java.py FOLDER URL

FOLDER is the Maven repository of `make dist`, dist/maven. URL is that of the repository that gets the packages; Maven's
settings have its user and password under the id `central`. The default key of GnuPG signs each file, and the variable
MAVEN_GPG_PASSPHRASE has its passphrase.
"""

import argparse
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

GOAL = "org.apache.maven.plugins:maven-gpg-plugin:3.2.7:sign-and-deploy-file"
SERVER = "central"


class NotDeployed(Exception):
    """The folder has no packages, or Maven has failed."""


def deploy(folder: Path, url: str) -> None:
    """Sign and deploy each package of a repository: jar, sources, documentation and description. Raises NotDeployed."""
    descriptions = sorted(folder.resolve().rglob("*.pom"))
    if not descriptions:
        raise NotDeployed(f"{folder}: there is no package; `make dist` writes the packages into dist/maven")
    for description in descriptions:
        base = description.with_suffix("")
        files = {"file": f"{base}.jar", "sources": f"{base}-sources.jar", "javadoc": f"{base}-javadoc.jar"}
        options = {"pomFile": str(description), **files, "repositoryId": SERVER, "url": url}
        words = [f"-D{name}={value}" for name, value in options.items()]
        # Outside of the source tree, whose Maven project would take part.
        with tempfile.TemporaryDirectory() as elsewhere:
            done = subprocess.run(["mvn", "-B", "-ntp", GOAL, *words], cwd=elsewhere, check=False)
        if done.returncode != 0:
            raise NotDeployed(f"{description.stem}: Maven ended with code {done.returncode}; its output has the reason")


def main(arguments: Sequence[str] | None = None) -> None:
    """Deploy the packages of the command line."""
    parser = argparse.ArgumentParser(prog="deploy_java.py")
    parser.add_argument("folder", type=Path)
    parser.add_argument("url")
    options = parser.parse_args(arguments)
    deploy(options.folder, options.url)


if __name__ == "__main__":
    main()
