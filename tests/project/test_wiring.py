"""No object is wired from outside: functions and parts are handed to constructors, or to methods that objects offer.

A function or a part that is assigned to an attribute of another object, or put into one of its containers, is found
in the sources. Objects that the same function has just created, and classes of the same file, are free.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path

import floors
import pytest

ROOT = Path(__file__).resolve().parents[2]
EXCEPTIONS: Mapping[str, str] = {
    "fixtures/network/tls_by_first_byte.py context.sni_callback": "the standard library's context has no other way",
    "grpc_v2/services/send.py entry.recall_handle": "a field of a protobuf message",
}
"""File and target of each assignment from outside that stays, with the reason."""
ADDING = frozenset({"append", "appendleft", "add", "insert", "extend", "update", "setdefault"})
"""Methods that put something into a container."""
FUNCTION_TYPES = frozenset({"Callable", "Awaitable"})
CONTAINERS = frozenset({"list", "dict", "set", "deque", "WeakSet", "defaultdict", "OrderedDict", "Any"})
VALUE_DECORATORS = frozenset({"dataclass", "value", "frozen_value", "frozen_view", "kind", "plain_value"})
"""Decorators of classes whose objects are data."""
VALUE_BASES = frozenset({"NamedTuple", "TypedDict", "Protocol", "Enum", "IntEnum", "StrEnum", "Struct", "Exception"})
VALUE_BASES |= {"RuntimeError", "ValueError", "UserError", "Operation", "Result", "Effect", "Header", "Bean", "Config"}
VALUE_BASES |= {"VerbResult"}


def names_in(node: ast.AST | None) -> set[str]:
    """Return all names in an annotation, also of one in quotes."""
    if node is None:
        return set()
    found = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    found |= {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute)}
    quoted = [each.value for each in ast.walk(node) if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    return found.union(*(re.findall(r"\w+", each) for each in quoted))


@dataclass
class House:
    """The names that decide what is a function, a part or a container: aliases, classes and attributes of all files."""

    functions: set[str] = field(default_factory=lambda: set(FUNCTION_TYPES))
    """Names of types of functions."""
    parts: set[str] = field(default_factory=set)
    """Names of classes that are not values."""
    values: set[str] = field(default_factory=set)
    function_attributes: set[str] = field(default_factory=set)
    _: KW_ONLY
    containers: set[str] = field(default_factory=set)
    """Names of attributes whose type is a container."""
    function_containers: set[str] = field(default_factory=set)


def classes_in(tree: ast.AST) -> Iterator[ast.ClassDef]:
    """Yield all classes of a file."""
    return (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))


def declared_attributes(kind: ast.ClassDef) -> Iterator[tuple[str, ast.AST | None]]:
    """Yield name and annotation of the attributes that a class declares in its body and in its methods."""
    for node in kind.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id, node.annotation
    for method in kind.body:
        if not isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        given = {each.arg: each.annotation for each in (*method.args.args, *method.args.kwonlyargs)}
        for found in ast.walk(method):
            if not isinstance(found, ast.Assign | ast.AnnAssign):
                continue
            for each in found.targets if isinstance(found, ast.Assign) else [found.target]:
                for target in each.elts if isinstance(each, ast.Tuple) else [each]:
                    if isinstance(target, ast.Attribute) and is_own(target.value):
                        annotation = found.annotation if isinstance(found, ast.AnnAssign) else None
                        if annotation is None and isinstance(found.value, ast.Name):
                            annotation = given.get(found.value.id)
                        yield target.attr, annotation


def is_own(node: ast.AST) -> bool:
    """True for the object whose method it is."""
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def survey(trees: Mapping[str, ast.Module]) -> House:
    """Read the declarations of all files."""
    house = House()
    aliases = [
        (node.targets[0].id, names_in(node.value))
        for tree in trees.values()
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        if isinstance(node.value, ast.Subscript | ast.BinOp)
    ]
    house.functions |= {name for name, names in aliases if names & FUNCTION_TYPES}
    for tree in trees.values():
        for kind in classes_in(tree):
            decorators = set[str]().union(*(names_in(each) for each in kind.decorator_list))
            bases = set[str]().union(*(names_in(each) for each in kind.bases))
            is_value = decorators & VALUE_DECORATORS or bases & (VALUE_BASES | house.values)
            (house.values if is_value else house.parts).add(kind.name)
    house.values -= house.parts
    for tree in trees.values():
        for kind in classes_in(tree):
            for name, annotation in declared_attributes(kind):
                names = names_in(annotation)
                of_functions, is_container = names & house.functions, bool(names & CONTAINERS)
                if of_functions and not is_container:
                    house.function_attributes.add(name)
                if is_container:
                    house.containers.add(name)
                    if of_functions:
                        house.function_containers.add(name)
    return house


class Finder(ast.NodeVisitor):
    """Finds assignments from outside in one file."""

    def __init__(self, house: House, tree: ast.Module) -> None:
        self._house = house
        self._own = {name for kind in classes_in(tree) for name, _ in declared_attributes(kind)}
        self._methods: list[set[str]] = []
        self._functions: list[ast.FunctionDef | ast.AsyncFunctionDef] = []
        self.found: list[str] = []

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Note the methods of a class."""
        self._methods.append({each.name for each in node.body if isinstance(each, ast.FunctionDef)})
        self.generic_visit(node)
        self._methods.pop()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Note a function."""
        self._functions.append(node)
        self.generic_visit(node)
        self._functions.pop()

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        """Note a coroutine."""
        self._functions.append(node)
        self.generic_visit(node)
        self._functions.pop()

    def visit_Assign(self, node: ast.Assign) -> None:
        """Check each target of an assignment."""
        for each in node.targets:
            pairs: list[tuple[ast.expr, ast.expr]] = [(each, node.value)]
            if isinstance(each, ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = list(zip(each.elts, node.value.elts, strict=False))
            for target, value in pairs:
                self._check(target, value)
        self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Check the target of a declaration with a value."""
        if node.value is not None:
            self._check(node.target, node.value)
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        """Check the container of `+=` and the like."""
        if isinstance(node.target, ast.Attribute):
            self._check_container(node.target, [node.value])
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        """Check the container of `append` and the like."""
        function = node.func
        if (
            isinstance(function, ast.Attribute)
            and function.attr in ADDING
            and isinstance(function.value, ast.Attribute)
        ):
            self._check_container(function.value, node.args)
        self.generic_visit(node)

    def _check(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Attribute):
            self._check_container(target.value, [value])
        elif isinstance(target, ast.Attribute) and self._is_foreign(target) and not target.attr.startswith("__"):
            may_be_function = isinstance(value, ast.Name | ast.Attribute | ast.Call | ast.IfExp)
            if (may_be_function and target.attr in self._house.function_attributes) or self._is_wiring(value):
                self.found.append(ast.unparse(target))

    def _check_container(self, container: ast.Attribute, put: list[ast.expr]) -> None:
        if not self._is_foreign(container) or container.attr not in self._house.containers:
            return
        if container.attr in self._house.function_containers or any(self._is_wiring(each) for each in put):
            self.found.append(ast.unparse(container))

    def _is_foreign(self, target: ast.Attribute) -> bool:
        """True if another object has the attribute, which this function has not created, of a class of another file."""
        owner = target.value
        if is_own(owner) or target.attr in self._own:
            return False
        return not (isinstance(owner, ast.Name) and owner.id in self._created())

    def _created(self) -> set[str]:
        """Return the names of local variables that hold objects which the function has created."""
        found = set[str]()
        for function in self._functions:
            for node in ast.walk(function):
                if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Call):
                    made = node.value.func
                    name = (
                        made.attr if isinstance(made, ast.Attribute) else made.id if isinstance(made, ast.Name) else ""
                    )
                    if name[:1].isupper() or name in ("__new__", "copy", "cls", "replace", "frozen_value", "super"):
                        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                        found |= {each.id for each in targets if isinstance(each, ast.Name)}
        return found

    def _is_wiring(self, value: ast.AST) -> bool:
        """True for a function, a method of this object, this object itself, or a part."""
        if isinstance(value, ast.Lambda):
            return True
        if isinstance(value, ast.Name):
            return value.id == "self" or self._is_wired_parameter(value.id)
        if isinstance(value, ast.Attribute) and is_own(value.value):
            return any(value.attr in methods for methods in self._methods[-1:])
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
            return value.func.id == "partial" or value.func.id in self._house.parts
        return False

    def _is_wired_parameter(self, name: str) -> bool:
        for function in self._functions:
            for each in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs):
                if each.arg == name:
                    return bool(names_in(each.annotation) & self._house.functions)
        return False


def wired_from_outside(texts: Mapping[str, str]) -> list[str]:
    """Return file and target of each assignment from outside."""
    trees = {file: ast.parse(text) for file, text in texts.items()}
    house = survey(trees)
    found = []
    for file, tree in trees.items():
        finder = Finder(house, tree)
        finder.visit(tree)
        found += [f"{file} {target}" for target in finder.found]
    return found


def sources() -> dict[str, str]:
    """Return the sources of all folders, without the drivers, which are programs of their own."""
    found = {file: text for folder in floors.ROOMS for file, text in floors.read(folder).items()}
    return {file: text for file, text in found.items() if not file.startswith("conformance/drivers/")}


def test_functions_and_parts_are_not_assigned_into_finished_objects() -> None:
    """Each finding that is no exception needs an argument of the constructor, or a method of the object."""
    found = wired_from_outside(sources())

    assert sorted({each for each in found if each not in EXCEPTIONS}) == []
    assert sorted(EXCEPTIONS.keys() - set(found)) == [], "exceptions that are no longer needed"


DECLARED = """
Listener = Callable[[int], None]
class Store:
    on_put: Callable[[], None] | None
    def __init__(self) -> None:
        self.on_lost: Listener | None = None
        self.listeners: list[Listener] = []
        self.stores: list[Store] = []
        self.name = ""
"""
USER = "class User:\n    def note(self): ...\n"


@pytest.mark.parametrize(
    "line",
    [
        "store.on_put = function",
        "self.store.on_lost = self.note",
        "broker.store.on_lost = partial(note, 1)",
        "store.name = lambda: 1",
        "store.name = self",
        "store.name = self.note",
        "store.name = given",
        "store.parent = Store()",
        "store.listeners.append(anything)",
        "self.store.listeners += [anything]",
        "store.stores.append(self)",
        "store.stores[0] = Store()",
        "store.on_put, store.name = function, 1",
    ],
)
def test_each_way_to_wire_an_object_from_outside_is_found(line: str) -> None:
    user = f"{USER}    def use(self, store, broker, function, given: Listener):\n        {line}\n"

    assert len(wired_from_outside({"emulator/store.py": DECLARED, "emulator/user.py": user})) == 1


@pytest.mark.parametrize(
    "line",
    [
        "self.on_put = function",
        "store.name = 'a'",
        "store.on_put = None",
        "store.stores.append(1)",
        "made = Store(); made.on_put = function",
        "store.listen(function)",
        "store.name = self.name",
    ],
)
def test_data_and_own_attributes_are_no_wiring(line: str) -> None:
    user = f"{USER}    def use(self, store, function):\n        {line}\n"

    assert wired_from_outside({"emulator/store.py": DECLARED, "emulator/user.py": user}) == []


def test_a_class_of_the_same_file_may_be_wired() -> None:
    """A service and its helper in one file are one unit."""
    user = (
        "class Store2:\n    def __init__(self, on_put):\n        self.on_put = on_put\n\n\ndef use(store, function):\n"
    )

    assert wired_from_outside({"emulator/user.py": f"{user}    store.on_put = lambda: 1\n"}) == []
