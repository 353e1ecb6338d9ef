"""Every driver reads commands and writes replies as PROTOCOL.md says; no broker is needed."""

import contextlib
import json
import os
import re
import subprocess
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from rocketmq_testkit.conformance import drivers
from rocketmq_testkit.conformance.drivers import registry
from rocketmq_testkit.conformance.drivers.build import build
from rocketmq_testkit.conformance.drivers.process import Addresses, Driver, DriverError, start
from rocketmq_testkit.conformance.drivers.toolchains.recipe import Launch

NOWHERE = Addresses(namesrv="127.0.0.1:1", endpoint="127.0.0.1:1")
JAVA = [name for name in registry.names() if registry.recipe(name).language == "java"]


PAGE = (Path(drivers.__file__).parent / "PROTOCOL.md").read_text(encoding="utf-8")


def _rows(head: str) -> list[list[str]]:
    """Return the cells of the page's table whose head begins with this word."""
    (table,) = re.findall(rf"^\| {head} \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table.splitlines()]


def _words(cell: str) -> list[str]:
    return re.findall(r"`(\w+)`", cell)


def _who(head: str) -> dict[str, set[str]]:
    """Return SDK -> the verbs, outcomes or options that it supports according to the table with this head."""
    has: dict[str, set[str]] = {sdk: set() for sdk in registry.names()}
    for cell, sdks in _rows(head):
        named = set() if sdks == "all" else set(sdks.removeprefix("all but ").split(", "))
        assert named <= set(has), f"no driver is called one of {named - set(has)}"
        for sdk in set(has) - named if sdks.startswith("all") else named:
            has[sdk].update(_words(cell))
    return has


@pytest.fixture(params=registry.names(), scope="module")
def driver(request: pytest.FixtureRequest) -> Iterator[Driver]:
    with start(request.param, NOWHERE) as driver:
        yield driver


def _answers(name: str, home: Path, lines: Sequence[bytes], count: int) -> tuple[list[dict[str, Any]], int]:
    """Send raw lines to a driver; return its first ``count`` replies, and its exit code after the end of input."""
    recipe = registry.recipe(name)
    launch = Launch(built=build(recipe), home=home)
    switch = "--namesrv" if recipe.protocol == "remoting" else "--endpoint"
    with subprocess.Popen(
        [*recipe.command(launch), switch, "127.0.0.1:1"],
        env={"PATH": os.environ["PATH"], "HOME": str(home), **recipe.environment(launch)},
        cwd=home,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        limit = threading.Timer(60, process.kill)
        limit.start()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"".join(line + b"\n" for line in lines))
        process.stdin.flush()
        responses = [json.loads(process.stdout.readline()) for _ in range(count)]
        # The process may have ended already.
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        responses += [json.loads(line) for line in process.stdout]
        code = process.wait()
        limit.cancel()
    return responses, code


def test_hello_has_the_package_version_language_and_protocol_of_the_recipe(driver: Driver) -> None:
    """The reply to `hello` has the recipe's package, version, language and protocol."""
    recipe = registry.recipe(driver.name)
    wanted = (recipe.version, recipe.language, recipe.protocol, 1)
    assert tuple(driver.hello[name] for name in ("version", "language", "protocol", "protocol_version")) == wanted
    assert driver.hello["sdk"] in recipe.package
    assert {"hello", "producer", "send", "close", "exit"} <= driver.verbs
    assert driver.modes <= {"concurrent", "orderly", "broadcast", "pop"}
    assert bool(driver.modes) == ("push" in driver.verbs)


def test_both_tables_of_the_page_name_the_same_verbs() -> None:
    """The table that explains the verbs and the table of their SDKs name the same verbs, each once."""
    explained = [word for row in _rows("verb") for word in _words(row[0])]
    had = [word for row in _rows("verbs") for word in _words(row[0])]
    assert sorted(explained) == sorted(had)
    assert len(set(had)) == len(had)


def test_a_driver_supports_exactly_the_features_on_the_page(driver: Driver) -> None:
    """The reply to `hello` lists exactly the verbs, outcomes, allocations and options on the page for the SDK."""
    assert driver.verbs == _who("verbs")[driver.name]
    assert driver.outcomes == _who("outcomes")[driver.name]
    assert driver.allocations == _who("allocations")[driver.name]
    assert driver.options == _who("options")[driver.name]


@pytest.mark.parametrize(
    ("kinds", "verb", "fields"),
    [
        ({"UnknownVerb"}, "juggle", {}),
        ({"UnknownObject"}, "send", {"on": "nobody", "topic": "t", "body": b"x"}),
        ({"UnknownObject"}, "close", {"on": "nobody"}),
        ({"UnknownObject", "BadCommand"}, "send", {"topic": "t", "body": b"x"}),
    ],
)
def test_a_bad_command_is_refused_and_the_driver_lives(
    driver: Driver, kinds: set[str], verb: str, fields: dict[str, Any]
) -> None:
    """A bad command is refused with a kind of the protocol, no code and a text; the driver continues."""
    with pytest.raises(DriverError) as caught:
        driver.call(verb, **fields)
    assert caught.value.kind in kinds
    assert caught.value.code is None
    assert caught.value.err
    assert driver.call("hello")["ok"]


@pytest.mark.parametrize(
    "check", ["PERHAPS", 7, [], ["COMMIT", "PERHAPS"], ["COMMIT", None], {"a": "PERHAPS"}, {"a": None}, {"a": []}]
)
def test_a_check_response_that_is_no_transaction_state_is_refused(driver: Driver, check: object) -> None:
    """A producer with an invalid response to checks is refused. An SDK without checks refuses every one."""
    with pytest.raises(DriverError) as caught:
        driver.call("producer", as_="p", topics=[], group="g", check=check)
    assert caught.value.kind == ("BadCommand" if "send_tx" in driver.verbs else "Unsupported")


@pytest.mark.parametrize("field", ["fail", "throw", "hang_ms"])
def test_a_script_that_is_no_table_of_numbers_is_refused(driver: Driver, field: str) -> None:
    """A push consumer with an invalid script is refused. An SDK without push consumers refuses every one."""
    refusals = {"BadCommand", "Unsupported"} if "push" in driver.verbs else {"UnknownVerb"}
    for table in ({"a": "b"}, ["a"], 7):
        fields: dict[str, Any] = {"sub": {"t": {"expr": "*", "type": "TAG"}}, field: table}
        with pytest.raises(DriverError) as caught:
            driver.call("push", as_="c", group="g", **fields)
        assert caught.value.kind in refusals


@pytest.mark.parametrize("name", registry.names())
def test_lines_that_are_no_commands_are_refused(name: str, tmp_path: Path) -> None:
    """Invalid JSON, a value that is not an object and a line without verb are refused.

    At the end of its input the driver exits with code 0.
    """
    lines = (b'{"i": 1, "do": "hel', b"[1, 2]", b'{"i": 3}', b'{"i": 4, "do": "hello"}')
    responses, code = _answers(name, tmp_path, lines, 4)
    assert [(response["i"], response["ok"]) for response in responses] == [
        (None, False),
        (None, False),
        (3, False),
        (4, True),
    ]
    assert [response["kind"] for response in responses[:2]] == ["BadCommand", "BadCommand"]
    assert responses[2]["kind"] in {"BadCommand", "UnknownVerb"}
    assert code == 0


@pytest.mark.parametrize("name", registry.names())
def test_exit_is_answered_and_ends_the_process(name: str, tmp_path: Path) -> None:
    """`exit` has a reply, and no later line is read."""
    responses, code = _answers(name, tmp_path, [b'{"i": 1, "do": "exit"}', b'{"i": 2, "do": "hello"}'], 1)
    assert [(response["i"], response["ok"]) for response in responses] == [(1, True)]
    assert code == 0


@pytest.mark.parametrize("name", JAVA)
def test_java_drivers_return_text_of_every_unicode_plane_unchanged(name: str, tmp_path: Path) -> None:
    """Raw UTF-8 and escapes, including surrogate pairs, are returned unchanged."""
    verb = 'a "b" \\ \n grün ☕ 😀'
    lines = [json.dumps({"i": 1, "do": verb}, ensure_ascii=ascii_only).encode() for ascii_only in (True, False)]
    responses, _ = _answers(name, tmp_path, lines, 2)
    assert [response["err"] for response in responses] == [f"this driver has no verb {verb}"] * 2
