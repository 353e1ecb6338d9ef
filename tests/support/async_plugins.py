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
"""By mark: text to append to a file of tests, and pytest's options."""


def passes_with(plugin: str, text: str, pytester: pytest.Pytester, tests: int) -> None:
    """Run a file of coroutine tests, which does not import pytest or mark its tests itself, with a plugin."""
    more, options = PLUGINS[plugin]
    pytester.makepyfile(f"import pytest\n\npytestmark = pytest.mark.{plugin}\n{text}{more}")
    pytester.runpytest_subprocess("-p", "no:cacheprovider", *options).assert_outcomes(passed=tests)
