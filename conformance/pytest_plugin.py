"""Options of `pytest --pyargs rocketmq_testkit.conformance`: --target and --sdk.

pytest loads this module in every session if the package is installed, so it imports nothing. It adds its options only
if the suite is named on the command line, because other plugins may use a name such as --target.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

SUITE = "rocketmq_testkit.conformance"


def pytest_load_initial_conftests(parser: "pytest.Parser", args: list[str]) -> None:
    """Add the options for a session that runs the suite."""
    if not any(argument.partition("::")[0].startswith(SUITE) for argument in args):
        return
    group = parser.getgroup("rocketmq-conformance")
    group.addoption(
        "--target",
        action="append",
        metavar="TARGET",
        help="emulator (default), apache:VERSION, or namesrv=HOST:PORT,endpoint=HOST:PORT; may be given several times",
    )
    group.addoption("--sdk", metavar="NAME,...", help="also the scenarios of these SDKs, or of all")
