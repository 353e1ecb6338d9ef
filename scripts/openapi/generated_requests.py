"""Sends requests that Schemathesis generates from docs/openapi.json to a running emulator, and checks the responses.

    python scripts/openapi/generated_requests.py

The command `st` is that of the environment whose Python runs this file; the emulator is that of the same environment.
Seed and number of requests are fixed.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).resolve().parent
DESCRIPTION = HERE.parents[1] / "docs" / "openapi.json"
TOKEN = "of-the-run"
SEED, REQUESTS_OF_AN_OPERATION = "34", "10"
AUTH = "org.apache.rocketmq.auth"
PROVIDERS = {
    "authenticationMetadataProvider": f"{AUTH}.authentication.provider.LocalAuthenticationMetadataProvider",
    "authorizationMetadataProvider": f"{AUTH}.authorization.provider.LocalAuthorizationMetadataProvider",
}
"""Keys with which brokers keep users and their rights."""


def emulator_command() -> list[str]:
    """Return the command of an emulator with the topic and the second broker that examples in the description name."""
    ports = [word for name in ("namesrv", "broker", "grpc", "control") for word in (f"--{name}-port", "0")]
    keys = [word for name, value in PROVIDERS.items() for word in ("--set", f"{name}={value}")]
    options = ["--brokers", "2", "--topic", "orders", "--time", "frozen", "--seed", SEED, "--control-token", TOKEN]
    return [str(Path(sys.executable).with_name("rocketmq-emulator")), *ports, *options, *keys]


def schemathesis_command(url: str) -> list[str]:
    """Return the command of a run against a control port."""
    st = str(Path(sys.executable).with_name("st"))
    options = ["--seed", SEED, "--max-examples", REQUESTS_OF_AN_OPERATION, "--request-timeout", "20"]
    phases = ["--phases", "examples,coverage,fuzzing", "--continue-on-failure", "--warnings", "off"]
    token = ["--header", f"authorization: Bearer {TOKEN}"]
    return [
        st,
        "--config-file",
        str(HERE / "schemathesis.toml"),
        "run",
        str(DESCRIPTION),
        "-u",
        url,
        *options,
        *phases,
        *token,
    ]


def main() -> int:
    """Check the description, start the emulator, run Schemathesis, and return its exit code.

    An emulator that has ended in the meantime is a failure.
    """
    subprocess.run([sys.executable, "-m", "openapi_spec_validator", str(DESCRIPTION)], check=True)
    environment = {**os.environ, "SCHEMATHESIS_HOOKS": "schemathesis_hooks", "PYTHONPATH": str(HERE)}
    with subprocess.Popen(emulator_command(), stdout=subprocess.PIPE, text=True) as emulator:
        try:
            assert emulator.stdout is not None
            url = json.loads(emulator.stdout.readline())["control"]
            with TemporaryDirectory() as folder:  # Schemathesis writes into the current one
                command = schemathesis_command(url)
                code = subprocess.run(command, env=environment, cwd=folder, check=False).returncode
            if emulator.poll() is not None:
                print(f"the emulator ended with code {emulator.returncode}", file=sys.stderr)
                return 1
            return code
        finally:
            emulator.terminate()


if __name__ == "__main__":
    sys.exit(main())
