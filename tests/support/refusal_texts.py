"""The texts with which the gRPC transport refuses calls, read from its source."""

import ast
from collections.abc import Iterator
from pathlib import Path

import rocketmq_testkit.grpc_v2.transport.grpc as transport

_REFUSALS = ("StatusError", "HttpRefusal", "report_refused")


def refusal_texts() -> set[str]:
    """Return the text of each refusal, with `{}` for an inserted value."""
    functions = [
        node
        for path in Path(transport.__path__[0]).glob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef)
    ]
    return {text for function in functions for text in _texts_of_function(function)}


def _texts_of_function(function: ast.FunctionDef) -> Iterator[str]:
    nodes = list(ast.walk(function))
    values = {ast.unparse(node.targets[0]): node.value for node in nodes if isinstance(node, ast.Assign)}
    for node in nodes:
        if not isinstance(node, ast.Call) or not ast.unparse(node.func).endswith(_REFUSALS):
            continue
        text = node.args[-1]
        text = values.get(text.id, text) if isinstance(text, ast.Name) else text
        for choice in (text.body, text.orelse) if isinstance(text, ast.IfExp) else (text,):
            if isinstance(choice, ast.Constant):
                yield str(choice.value)
            elif isinstance(choice, ast.JoinedStr):
                yield "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in choice.values)
