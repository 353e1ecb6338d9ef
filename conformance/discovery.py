"""Finds the cases of `cases/` and the scenarios of `scenarios/`.

A noun is the name of a module; the room in which the module lies is no part of it.
"""

import importlib
import pkgutil
from collections.abc import Iterator
from types import ModuleType

from . import cases, scenarios
from .case import Case, CaseError, cases_of
from .scenario import Scenario, scenarios_of


def noun_of(module: ModuleType) -> str:
    """The noun of a module: the last part of its name."""
    return module.__name__.rpartition(".")[2]


def modules_of(package: ModuleType) -> list[ModuleType]:
    """The modules of a package and of its rooms, sorted by noun. Raises CaseError if two have one noun."""
    found: dict[str, ModuleType] = {}
    for module in _modules(package):
        noun = noun_of(module)
        if noun in found:
            raise CaseError(f"{module.__name__} and {found[noun].__name__} have the same noun: rename one of them")
        found[noun] = module
    return [found[noun] for noun in sorted(found)]


def _modules(package: ModuleType) -> Iterator[ModuleType]:
    for each in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"{package.__name__}.{each.name}")
        if each.ispkg:
            yield from _modules(module)
        else:
            yield module


def all_cases() -> tuple[Case, ...]:
    """Every case of `cases/`, by noun, then in source order. Raises CaseError."""
    return tuple(case for module in modules_of(cases) for case in cases_of(module))


def all_scenarios() -> tuple[Scenario, ...]:
    """Every scenario of `scenarios/`, by noun, then in source order. Raises CaseError."""
    return tuple(each for module in modules_of(scenarios) for each in scenarios_of(module))
