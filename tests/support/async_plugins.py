"""The pytest plugins that run coroutine tests, for tests of the fixture with each of them."""

import pytest

ANYIO = """

@pytest.fixture
def anyio_backend():
    return "asyncio"
"""

PLUGINS = {
    "asyncio": ("", ["-p", "asyncio", "-o", "asyncio_default_fixture_loop_scope=function"]),
    "anyio": (ANYIO, ["-p", "no:asyncio"]),
}
"""Plugin, which is also the name of its mark -> text to append to a file of tests, and options of pytest."""


def passes_with(plugin: str, text: str, pytester: pytest.Pytester, tests: int) -> None:
    """Run coroutine tests with a plugin, and check that as many as `tests` pass.

    `text` is a file of tests without marks and without an import of pytest, which this function adds.
    """
    more, options = PLUGINS[plugin]
    pytester.makepyfile(f"import pytest\n\npytestmark = pytest.mark.{plugin}\n{text}{more}")
    pytester.runpytest_subprocess("-p", "no:cacheprovider", *options).assert_outcomes(passed=tests)
