"""Compares the helpers for Go, Java and Node: process, fork, message, reset, and tests of Jupiter.

    python bench/helpers.py [ROUNDS]

Each round runs a program in each language, by turns. A program is a process with an emulator of its own, as a test
binary is. The table has medians: milliseconds of the wall clock, and the processor time of program and emulator.
ROCKETMQ_EMULATOR is the command of the emulator.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = Path(__file__).with_name("helpers")
JAVA = ROOT / "clients" / "java"
HELPER_OF_NODE = str(ROOT / "clients" / "node" / "src" / "index.js")


def main() -> int:
    """Build the programs, run them by turns, and print the table."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 12
    with tempfile.TemporaryDirectory() as folder:
        commands = {"Go": go(Path(folder)), "Java": java(Path(folder)), "Node": ["node", str(PROGRAMS / "measure.mjs")]}
        found: dict[tuple[str, str], list[Mapping[str, Any]]] = defaultdict(list)
        for number in range(rounds + 1):
            for language, words in commands.items():
                for line in lines(words):
                    if number > 0:  # the first round fills caches
                        found[line["step"], language].append(line)
    print_table(found)
    return 0


def go(folder: Path) -> Sequence[str]:
    """Build the program in Go and return its command."""
    program = str(folder / "measure")
    subprocess.run(["go", "build", "-o", program, "."], cwd=PROGRAMS, check=True)
    return [program]


def java(folder: Path) -> Sequence[str]:
    """Compile the helper and the program in Java, and return its command."""
    listed = folder / "classpath"
    goals = ["test-compile", "dependency:build-classpath", f"-Dmdep.outputFile={listed}"]
    subprocess.run(["mvn", "-q", "-B", "-ntp", "-f", str(JAVA), *goals], check=True)
    classes = os.pathsep.join([str(JAVA / "target" / "classes"), listed.read_text().strip(), str(folder)])
    subprocess.run(["javac", "-cp", classes, "-d", str(folder), str(PROGRAMS / "Measure.java")], check=True)
    return ["java", "-cp", classes, "Measure"]


def lines(words: Sequence[str]) -> list[dict[str, Any]]:
    """Run a program and return its lines."""
    environment = {**os.environ, "HELPER": HELPER_OF_NODE}
    done = subprocess.run(words, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def print_table(found: Mapping[tuple[str, str], Sequence[Mapping[str, Any]]]) -> None:
    """Print the medians in Markdown."""
    print("| step | helper | median ms | least ms | processor ms |\n|---|---|---:|---:|---:|")
    steps = dict.fromkeys(step for step, _ in found)
    for step in steps:
        for language in ("Go", "Java", "Node"):
            if times := found.get((step, language)):
                wall = [each["ms"] for each in times]
                processor = statistics.median(each["cpu_ms"] for each in times)
                print(f"| {step} | {language} | {statistics.median(wall):.1f} | {min(wall):.1f} | {processor:.1f} |")


if __name__ == "__main__":
    sys.exit(main())
