"""The release workflow publishes what `make dist` builds, and an image whose base has a digest."""

import os
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
DIGEST = f"sha256:{'1a2b' * 16}"
DOCKER = f"""#!/bin/sh
[ "$*" = "buildx imagetools inspect $BASE --format {{{{.Manifest.Digest}}}}" ] && echo {DIGEST}
"""
"""A docker that prints the digest of the base if it is called for it, and fails otherwise."""


def workflow() -> dict[str, Any]:
    """Return the release workflow."""
    found: dict[str, Any] = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text("utf-8"))
    return found


def steps(job: str, part: str) -> list[dict[str, Any]]:
    """Return the steps of a job whose action or script contains a text."""
    found: list[dict[str, Any]] = workflow()["jobs"][job]["steps"]
    return [each for each in found if part in each.get("uses", each.get("run", ""))]


def test_job_of_the_base_returns_its_name_with_its_digest(tmp_path: Path) -> None:
    """The script of the job runs with a docker that only knows the digest."""
    program = tmp_path / "docker"
    program.write_text(DOCKER)
    program.chmod(0o755)
    base = str(workflow()["env"]["BASE"])
    output = tmp_path / "output"
    [step] = steps("base", "docker")
    subprocess.run(
        ["bash", "-eo", "pipefail", "-c", step["run"]],
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}", "BASE": base, "GITHUB_OUTPUT": str(output)},
        timeout=60,
        check=True,
    )
    assert output.read_text() == f"name={base.partition(':')[0]}@{DIGEST}\n"
    assert workflow()["jobs"]["base"]["outputs"] == {"name": f"${{{{ steps.{step['id']}.outputs.name }}}}"}


def test_image_is_built_from_the_base_with_the_digest() -> None:
    """The image job passes the name to the argument of the Dockerfile, which both of its stages are built from."""
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    before, *_ = re.split("^FROM ", dockerfile, flags=re.MULTILINE)
    [(argument, default)] = re.findall(r"^ARG (\w+)=(\S+)$", before, re.MULTILINE)
    bases = re.findall(r"^FROM (\S+)", dockerfile, re.MULTILINE)
    assert bases == [f"${{{argument}}}"] * 2
    assert default == workflow()["env"]["BASE"]
    [build] = steps("image", "docker/build-push-action@")
    assert build["with"]["build-args"] == f"{argument}=${{{{ needs.base.outputs.name }}}}"
    assert build["with"]["context"] == "."
    assert "file" not in build["with"]
    assert "base" in workflow()["jobs"]["image"]["needs"]


def test_registries_get_the_files_of_make_dist() -> None:
    """Jobs that publish to a registry wait for `make dist`, take its files, and build nothing."""
    [dist] = steps("artifacts", "make dist")
    assert dist["run"] == "make dist"
    [upload] = steps("artifacts", "actions/upload-artifact@")
    assert (upload["with"]["name"], upload["with"]["path"]) == ("dist", "dist")
    published = {
        "pypi": ["cp dist/*.whl dist/*.tar.gz packages/"],
        "npm": ["npm publish --provenance --access public dist/*.tgz"],
        "maven": ['python scripts/deploy_java.py dist/maven "$MAVEN_DEPLOY_URL"'],
    }
    for job, scripts in published.items():
        assert "artifacts" in workflow()["jobs"][job]["needs"]
        download, *_ = steps(job, "actions/download-artifact@")
        assert download["with"] == {"name": "dist", "path": "dist"}
        assert [each["run"] for each in workflow()["jobs"][job]["steps"] if "run" in each] == scripts
    [upload] = steps("pypi", "pypa/gh-action-pypi-publish@")
    assert upload["with"] == {"packages-dir": "packages"}


def test_compiled_wheels_are_built_for_both_processors_and_published() -> None:
    """The wheels come from the folder of the distribution, for the Python version of its classifiers."""
    job = workflow()["jobs"]["compiled"]
    assert job["strategy"]["matrix"]["runner"] == ["ubuntu-22.04", "ubuntu-22.04-arm"]
    [build] = steps("compiled", "cibuildwheel")
    assert build["run"].endswith(" --output-dir dist compiled")
    project = tomllib.loads((ROOT / "compiled" / "pyproject.toml").read_text("utf-8"))["project"]
    versions = re.findall(r"Python :: (3\.\d+)", "\n".join(project["classifiers"]))
    assert build["env"]["CIBW_BUILD"].split() == [f"cp{each.replace('.', '')}-manylinux_*" for each in versions]
    [upload] = steps("compiled", "actions/upload-artifact@")
    _, download = steps("pypi", "actions/download-artifact@")
    assert upload["with"] == {"name": "compiled-${{ matrix.runner }}", "path": "dist"}
    assert download["with"] == {"path": "packages", "pattern": "compiled-*", "merge-multiple": True}
    assert "compiled" in workflow()["jobs"]["pypi"]["needs"]


def test_image_and_executables_are_built_for_both_processors() -> None:
    [build] = steps("image", "docker/build-push-action@")
    assert build["with"]["platforms"] == "linux/amd64,linux/arm64"
    assert [each["system"] for each in workflow()["jobs"]["executable"]["strategy"]["matrix"]["include"]] == [
        "linux-x86_64",
        "linux-arm64",
    ]


def test_go_module_gets_a_tag_with_the_path_of_its_folder() -> None:
    """Go finds the version v1.2.3 of a module in a subfolder by the tag FOLDER/v1.2.3."""
    [tag] = steps("release", "git tag")
    assert (ROOT / "clients" / "go" / "go.mod").is_file()
    assert tag["run"].splitlines() == [
        'git tag "clients/go/$GITHUB_REF_NAME"',
        'git push origin "clients/go/$GITHUB_REF_NAME"',
    ]
