"""Page of the Python API, made from the docstrings of the names that users import and of the pytest fixtures."""

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import rocketmq_testkit
from pyspark_rocketmq import pytest_plugin as spark_plugin
from rocketmq_testkit.fixtures import factory, plugin
from rocketmq_testkit.fixtures.assertions import query
from rocketmq_testkit.fixtures.views import clock, inspection, journal_view

from .markdown import annotation, prose, table

HEAD = """\
# Python API

Made from the docstrings. Import the classes from `rocketmq_testkit`: `from rocketmq_testkit import Emulator`. The
fixtures need no import; [Using the fixtures](fixtures.md) shows them in tests.
"""
REACHED: Sequence[type[Any]] = (
    clock.Clock,
    inspection.InspectionView,
    journal_view.JournalView,
    factory.Factory,
    query.MessageQuery,
)
"""Classes of attributes, and of results and arguments of methods and fixtures, which users need not import."""
PACKAGE = "rocketmq_testkit"


def page() -> str:
    """Render the whole page."""
    parts = [HEAD, "## Fixtures\n"]
    for module in (plugin, spark_plugin):
        parts += [f"### {name}\n\n{prose(text)}\n" for name, text in fixtures_of(module)]
    for each in functions():
        shown = f"{each.__name__}{_signature(each)}"
        parts.append(f"## {each.__name__}\n\n```python\n{shown}\n```\n\n{prose(inspect.getdoc(each) or '')}\n")
    for class_ in classes():
        parts.append(_section(class_))
    return "\n".join(parts)


def classes() -> list[type[Any]]:
    """The public classes, by name."""
    public = [getattr(rocketmq_testkit, name) for name in rocketmq_testkit.__all__]
    return sorted((each for each in {*public, *REACHED} if inspect.isclass(each)), key=lambda each: each.__name__)


def functions() -> list[Callable[..., object]]:
    """The public functions, by name."""
    public = (getattr(rocketmq_testkit, name) for name in rocketmq_testkit.__all__)
    return sorted((each for each in public if inspect.isfunction(each)), key=lambda each: each.__name__)


def fixtures_of(module: Any) -> Iterator[tuple[str, str]]:
    """Yield name and docstring of each fixture of a plugin, in source order."""
    for node in ast.parse(Path(module.__file__).read_text()).body:
        if isinstance(node, ast.FunctionDef) and any("fixture" in ast.unparse(each) for each in node.decorator_list):
            yield node.name, ast.get_docstring(node) or ""


Members = dict[str, tuple[str, str]]
"""Members of a class by name: the declaration, and the docstring."""


def members_of(each: type[Any]) -> tuple[Members, Members]:
    """The public attributes of a class that have a docstring, and its methods."""
    attributes: Members = {}
    methods: Members = {}
    for owner in each.__mro__:
        if not owner.__module__.startswith(PACKAGE):
            continue
        for name, (type_, text) in _declared(owner).items():
            attributes.setdefault(name, (f"{name}: {type_}", text))
        for name, member in vars(owner).items():
            if name.startswith("_") or name in attributes or name in methods:
                continue
            if isinstance(member, property):
                returned = inspect.signature(member.fget).return_annotation if member.fget else inspect.Signature.empty
                shown = name if returned is inspect.Signature.empty else f"{name}: {annotation(returned)}"
                attributes[name] = (shown, inspect.getdoc(member) or "")
            elif callable(member) or isinstance(member, classmethod | staticmethod):
                methods[name] = (f"{name}{_signature(getattr(owner, name))}", inspect.getdoc(member) or "")
    return {name: found for name, found in attributes.items() if found[1]}, methods


def _section(each: type[Any]) -> str:
    parts = [f"## {each.__name__}\n", f"{prose(inspect.getdoc(each) or '')}\n"]
    attributes, methods = members_of(each)
    if attributes:
        rows = ((f"`{shown}`", prose(" ".join(text.split()))) for shown, text in attributes.values())
        parts.append(table(("attribute", "meaning"), rows) + "\n")
    for name, (shown, text) in methods.items():
        parts.append(f"### {name} {{ #{each.__name__}.{name} }}\n\n```python\n{shown}\n```\n\n{prose(text)}\n")
    return "\n".join(parts)


def _declared(owner: type[Any]) -> dict[str, tuple[str, str]]:
    """Annotated fields of a class that a docstring follows, by name: annotation and docstring."""
    try:
        [tree] = ast.parse(textwrap.dedent(inspect.getsource(owner))).body
    except (OSError, TypeError, ValueError):
        return {}
    found = {}
    body = tree.body if isinstance(tree, ast.ClassDef) else []
    for node, after in pairwise(body):
        if (
            isinstance(node, ast.AnnAssign)
            and isinstance(node.target, ast.Name)
            and isinstance(after, ast.Expr)
            and isinstance(after.value, ast.Constant)
            and isinstance(after.value.value, str)
        ):
            found[node.target.id] = (ast.unparse(node.annotation), inspect.cleandoc(after.value.value))
    return found


def _signature(member: Any) -> str:
    signature = inspect.signature(member)
    parameters = [each for name, each in signature.parameters.items() if name not in ("self", "cls")]
    shown = [each.replace(annotation=_Shown(each.annotation)) for each in parameters]
    returned = signature.return_annotation
    end = "" if returned is inspect.Signature.empty else f" -> {annotation(returned)}"
    text = str(inspect.Signature(shown)) + end
    if len(text) <= 80:
        return text
    return "(\n" + "".join(f"    {each},\n" for each in map(str, _with_marks(shown))) + f"){end}"


def _with_marks(parameters: Sequence[inspect.Parameter]) -> Iterator[object]:
    """Yield parameters with the star before the first that is only given by name."""
    starred = any(each.kind is inspect.Parameter.VAR_POSITIONAL for each in parameters)
    for each in parameters:
        if each.kind is inspect.Parameter.KEYWORD_ONLY and not starred:
            starred = True
            yield "*"
        yield each


class _Shown:
    """An annotation that prints without the paths of modules."""

    __module__ = "builtins"

    def __init__(self, shown: Any) -> None:
        self._shown = shown

    def __repr__(self) -> str:
        return annotation(self._shown)
