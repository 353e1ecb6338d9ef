"""Table of the SDKs that have a driver: name, language, protocol, published package, recipe.

To add one, write ``<folder>/recipe.py`` with a ``RECIPE`` and list it in RECIPES below. Its name appears in ``--sdk``
options and reports, and never changes.
"""

from rocketmq_testkit.fixtures.values.value_forms import one_of

from .cpp import recipe as cpp
from .go_grpc import recipe as go_grpc
from .go_remoting import recipe as go_remoting
from .java_grpc import recipe as java_grpc
from .java_remoting import recipe as java_remoting
from .node import recipe as node
from .python import recipe as python
from .rust import recipe as rust
from .toolchains.recipe import Recipe

RECIPES: tuple[Recipe, ...] = (
    java_grpc.RECIPE,
    java_grpc.RECIPE_OLD,
    java_remoting.RECIPE,
    java_remoting.RECIPE_OLD,
    go_grpc.RECIPE,
    go_remoting.RECIPE,
    python.RECIPE,
    node.RECIPE,
    rust.RECIPE,
    cpp.RECIPE,
)
"""Every driver, in the order of reports: Java, Go, Python, Node, Rust, C++."""

_BY_NAME: dict[str, Recipe] = {recipe.name: recipe for recipe in RECIPES}


def recipe(name: str) -> Recipe:
    """The recipe of the SDK called ``name``; raises LookupError with the nearest name, or with all."""
    try:
        return _BY_NAME[name]
    except KeyError:
        problem = one_of("SDK", list(_BY_NAME))(name)
        assert problem is not None
        raise LookupError(problem.sentence("--sdk", name)) from None


def names() -> tuple[str, ...]:
    """Return the names of all SDK drivers, in the order of reports."""
    return tuple(_BY_NAME)
