"""The helpers for Java, Go and Node have a method for each verb of the control API and for each assertion.

Their sources are compared with docs/openapi.json. Exceptions are listed here, each with its reason.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DESCRIPTION = json.loads((ROOT / "docs" / "openapi.json").read_text(encoding="utf-8"))
SOURCES = {
    "java": ROOT / "clients" / "java" / "src" / "main",
    "go": ROOT / "clients" / "go",
    "node": ROOT / "clients" / "node" / "src",
}
GENERIC = {
    "java": '| `mq.control().get("/openapi.json")` |',
    "go": '| `mq.Request("GET", "/openapi.json", nil, &found)` |',
    "node": '| `mq.control.get("/openapi.json")` |',
}
"""The row of each helper's page that shows how to send requests for which the helper has no method."""
DESCRIBES = "describes requests and files to programs; the methods of a helper know what it describes"
EXCEPTIONS: Mapping[str, str] = {
    "GET /": DESCRIBES,
    "GET /openapi.json": DESCRIBES,
    "GET /v1/faults/schema": DESCRIBES,
    "GET /v1/journal/schema": DESCRIBES,
    "GET /healthz": "for supervisors of the process; a helper checks with it an emulator that does not respond",
}
"""Verbs for which the helpers need no method. Requests of GENERIC reach them."""
UNUSED_FIELDS: Mapping[str, str] = {
    "lease": "a hold of a helper ends with its test or its process; the lease is for scripts",
    "optional": "a rule of a Python test fails the test if it never fires; it has no effect over HTTP",
    "ordinals": "the file of an exported journal has ordinals; the ids are for Python's journal over HTTP",
}
"""Fields of bodies and parameters of queries that no method sends, with the reason."""
_ENCODED = re.compile(r"\s*\+\s*(?:segment|Control\.encoded)\((?:[^()]|\([^()]*\))*\)")
_CALL = re.compile(r"([\w#]+)\(\s*(?:ctx,\s*)?(?:\"(\w+)\",\s*)?[\"`](/(?:v1/[^\"`]*|readyz|metrics))[\"`]")
_RETURNED = re.compile(r"return \"(/v1/[^\"]*)\"")
_METHODS = {
    **dict.fromkeys(("get", "read", "messages", "#messages", "super", "list", "with", "page"), "GET"),
    **dict.fromkeys(("text", "bytes", "stream", "download"), "GET"),
    **dict.fromkeys(("post", "write"), "POST"),
    "delete": "DELETE",
    "patch": "PATCH",
}


def verbs() -> set[str]:
    """Return the verbs of the control API, with {} in place of the names in paths."""
    return {
        f"{method.upper()} {re.sub(r'{[^}]*}', '{}', path)}"
        for path, methods in DESCRIPTION["paths"].items()
        for method in methods
        if method in ("get", "post", "put", "patch", "delete")
    }


def source(language: str) -> str:
    """Return the code of a helper without its tests."""
    files = (path for path in sorted(SOURCES[language].rglob("*.*")) if not path.name.endswith("_test.go"))
    return "\n".join(path.read_text(encoding="utf-8") for path in files if path.suffix in (".java", ".go", ".js"))


def called(language: str) -> set[str]:
    """Return the verbs that the code of a helper calls."""
    code = re.sub(r"\$\{[^}]*\}", "{}", source(language))
    code = _ENCODED.sub(' + "{}"', code)
    code = re.sub(r"\s*\+\s*(?:search|search\.ID|assertion|name)\b", ' + "{}"', code)
    code = re.sub(r"\"\s*\+\s*\"", "", code)
    # Java's classes of stored messages pass their path to their superclass, after other arguments.
    code = re.sub(r"super\([^;]*?(?=\"/v1/)", "super(", code)
    code = code.replace('"/v1/assertions/no_errors"', '"/v1/assertions/{}"')
    found = set()
    for function, method, path in _CALL.findall(code):
        verb = method or _METHODS.get(function, "")
        found.add(f"{verb} {path.partition('?')[0]}")
    # Java's rules and forks keep their path, which they get and delete.
    kept = [*_RETURNED.findall(code), *re.findall(r"String path = \"(/v1/[^\"]*)\"", code)]
    return found | {f"{verb} {path}" for path in kept for verb in ("GET", "DELETE")}


@pytest.mark.parametrize("language", SOURCES)
def test_each_verb_of_the_control_api_has_a_method_or_a_reason(language: str) -> None:
    assert sorted(verbs() - called(language) - EXCEPTIONS.keys()) == []


@pytest.mark.parametrize("language", SOURCES)
def test_each_request_of_a_helper_is_a_verb_of_the_control_api(language: str) -> None:
    # The path of a fork is only deleted; GET is that of the rule.
    assert sorted(called(language) - verbs() - {"GET /v1/forks/{}"}) == []


def test_each_exception_is_a_verb_without_a_method_in_each_helper() -> None:
    assert sorted(EXCEPTIONS.keys() - verbs()) == []
    assert [verb for verb in EXCEPTIONS if any(verb in called(language) for language in SOURCES)] == []


def fields() -> set[str]:
    """Return the names of all fields of bodies and parameters of queries."""
    found = set()
    for methods in DESCRIPTION["paths"].values():
        for verb in methods.values():
            found |= {each["name"] for each in verb.get("parameters", ()) if each["in"] == "query"}
            for content in verb.get("requestBody", {}).get("content", {}).values():
                name = content["schema"]["$ref"].rpartition("/")[2]
                found |= DESCRIPTION["components"]["schemas"][name]["properties"].keys()
    return found


@pytest.mark.parametrize("language", SOURCES)
def test_each_field_of_a_request_is_sent_by_a_method_or_has_a_reason(language: str) -> None:
    if language == "node":  # objects of the caller are sent as they are; the types name their fields
        types = (SOURCES["node"].parent / "index.d.ts").read_text(encoding="utf-8")
        named = set(re.findall(r"\w+", source(language) + types))
    else:
        named = set(re.findall(r"[\"?](\w+)[\",=]", source(language)))
    assert sorted(fields() - named) == sorted(UNUSED_FIELDS)


@pytest.mark.parametrize("language", SOURCES)
def test_the_page_of_a_helper_shows_how_to_send_any_other_request(language: str) -> None:
    assert GENERIC[language] in (ROOT / "docs" / f"{language}.md").read_text(encoding="utf-8")


def assertions() -> set[str]:
    """Return the names of assertions of the control API."""
    [parameter] = DESCRIPTION["paths"]["/v1/assertions/{name}"]["post"]["parameters"]
    return set(parameter["schema"]["enum"])


def camel(name: str) -> str:
    """Return a name such as no_loss as NoLoss."""
    return "".join(part.capitalize() for part in name.split("_"))


OVERLOADED = {
    "java": {"assertBodiesInOrder"},
    "go": {"AssertSentTimes", "AssertDeliveredTimes", "AssertBodiesInOrder"},
    "node": set(),
}
"""Further assertion methods: in Java those about order, in Go variants, as it has neither overloading nor defaults."""
INITIALISMS = {"AssertInDlq": "AssertInDLQ"}
"""Go writes initialisms in capitals."""


@pytest.mark.parametrize("language", SOURCES)
def test_each_assertion_has_its_name_in_the_case_of_the_language(language: str) -> None:
    prefix = "Assert" if language == "go" else "assert"
    wanted = {f"{prefix}{camel(name)}" for name in assertions()}
    if language == "go":
        wanted = {INITIALISMS.get(name, name) for name in wanted}
    declared = {
        "java": r"public [\w<>]+ (assert\w+)\(",
        "go": r"^func \(\w+ \*?\w+\) (Assert\w+)\(",
        "node": r"^  async (assert\w+)\(",
    }[language]
    assert set(re.findall(declared, source(language), re.MULTILINE)) == wanted | OVERLOADED[language]


def test_each_assertion_has_its_name_in_python() -> None:
    code = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "fixtures").rglob("*.py"))
    assert assertions() <= set(re.findall(r"^    def assert_(\w+)\(", code, re.MULTILINE))
