"""The recipes of CONTRIBUTING.md: each names the files and the arguments of the declarations that it adds."""

import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import MISSING, fields
from pathlib import Path
from types import ModuleType

import config_page
import pytest
from rocketmq_testkit.conformance.drivers import registry
from rocketmq_testkit.emulator.client import consumer_kind
from rocketmq_testkit.emulator.config import keys
from rocketmq_testkit.emulator.faults import base_fault, client_call, criteria, events, fault, kinds, parameters, phase
from rocketmq_testkit.emulator.message import properties
from rocketmq_testkit.emulator.metrics import upstream_families
from rocketmq_testkit.emulator.operations import clients
from rocketmq_testkit.emulator.pop import pop_batch
from rocketmq_testkit.emulator.send import send_service
from rocketmq_testkit.emulator.snapshot import durable_state, snapshot_checks, snapshot_tables
from rocketmq_testkit.emulator.stats import broker_stats, metric_counters, store_stats
from rocketmq_testkit.emulator.stats.broker_metrics import BrokerMetrics
from rocketmq_testkit.fixtures.assertions.mixin import Assertions
from rocketmq_testkit.fixtures.console import site
from rocketmq_testkit.fixtures.control import verbs
from rocketmq_testkit.fixtures.control.verbs import metrics as verb_of_metrics
from rocketmq_testkit.fixtures.metrics import own_families
from rocketmq_testkit.fixtures.options import ignored_keys, upstream_keys
from rocketmq_testkit.grpc_v2 import services
from rocketmq_testkit.grpc_v2.proxy.receive_metrics import ReceiveMetrics
from rocketmq_testkit.grpc_v2.proxy.rpc_table import Rpc
from rocketmq_testkit.grpc_v2.services import clients as grpc_clients
from rocketmq_testkit.remoting import processors
from rocketmq_testkit.remoting.bodies import client as client_bodies
from rocketmq_testkit.remoting.processors import unserved
from rocketmq_testkit.remoting.request.request_table import RequestTable

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text()
SECTIONS = {part.partition("\n")[0]: part for part in re.split(r"(?m)^## ", PAGE)[1:]}
RECIPES = {heading: text for heading, text in SECTIONS.items() if heading.startswith("Add ")}
TWELVE = (
    "Add a request code",
    "Add an RPC",
    "Add a fault",
    "Add a configuration key",
    "Add a kind of consumer",
    "Add a message property",
    "Add an assertion",
    "Add a counter",
    "Add an SDK driver",
    "Add an emulated version",
    "Add a web page",
    "Add durable state to snapshots",
)
FOLDERS = "emulator|remoting|grpc_v2|fixtures|testkit|conformance|spark|tests|spark_tests|scripts|docs"


def paths(heading: str) -> list[Path]:
    """Return the files and folders that a recipe names."""
    found = re.findall(rf"`((?:{FOLDERS})/[^`\s<]*)[^`]*`", RECIPES[heading])
    return [ROOT / path for path in found]


def file_of(found: object) -> Path:
    """Return the file in which a class, a function or a module is declared."""
    source = found if isinstance(found, ModuleType) else inspect.getmodule(found)
    assert source is not None
    assert source.__file__ is not None
    return Path(source.__file__).resolve()


def not_named(heading: str, declared: Iterable[Path]) -> list[str]:
    """Return the files that a recipe does not name, neither by their path nor by that of their room.

    The name of a whole package, such as `emulator/`, does not count.
    """
    named = [path for path in paths(heading) if path.parent != ROOT]
    missed = {file for file in declared if not any(file == each or each in file.parents for each in named)}
    return sorted(file.relative_to(ROOT).as_posix() for file in missed)


def request_code_files() -> Iterator[Path]:
    """Yield the files in which the parts of each request code are declared."""
    yield file_of(unserved)
    yield file_of(processors)
    for each in processors.PROCESSORS.values():
        yield file_of(each.operation)
        yield file_of(each.rights)
        yield file_of(type(each.pool))
        yield file_of(type(each.code))
        if each.body is not None:
            yield file_of(each.body)
    yield from (each for each in file_of(processors).parent.glob("*.py"))


def rpc_files() -> Iterator[Path]:
    """Yield the files in which the parts of each RPC are declared."""
    yield file_of(services)
    for rpc in services.RPCS:
        yield from map(file_of, rpc.operations)
        yield file_of(rpc.rights)
        if rpc.pool is not None:
            yield file_of(type(rpc.pool))
        yield ROOT / "grpc_v2" / "proto" / f"{rpc.request.DESCRIPTOR.file.name.rpartition('/')[2]}"
    yield from (each for each in file_of(services).parent.glob("*.py"))


def key_files() -> Iterator[Path]:
    """Yield the files in which configuration keys are declared, or the reasons why they have no effect."""
    for _, config in config_page.SECTIONS:
        for base in config.__mro__:
            if issubclass(base, keys.Config) and inspect.get_annotations(base):
                yield file_of(base)
    yield file_of(ignored_keys)
    yield file_of(upstream_keys)


def fault_files() -> Iterator[Path]:
    """Yield the files in which the kinds of faults and their parts are declared."""
    yield file_of(kinds)
    yield from (file_of(found) for found in fault.KINDS.values())
    yield from map(file_of, (fault, base_fault, parameters, criteria, phase, client_call, events))


def driver_files() -> Iterator[Path]:
    """Yield the folders of all drivers, and the file of their table."""
    yield file_of(registry)
    yield from (each.folder.resolve() / "recipe.py" for each in registry.RECIPES)


def verb_files() -> Iterator[Path]:
    """Yield the file of each verb of the control port."""
    yield from (file_of(verb.function) for verb in verbs.TABLE.verbs)


def assertion_files() -> Iterator[Path]:
    """Yield the files with the methods of all assertions, and those that the methods import."""
    for name, method in inspect.getmembers(Assertions, inspect.isfunction):
        if name.startswith("assert_"):
            yield file_of(method)
            for module in re.findall(r"from \.(\w+) import", inspect.getsource(method)):
                yield ROOT / "fixtures" / "assertions" / f"{module}.py"


def counter_files() -> Iterator[Path]:
    """Yield the files in which metrics are declared, read and counted, and the statistics that these import."""
    yield from map(file_of, (own_families, upstream_families, metric_counters, broker_stats, store_stats))
    yield from map(file_of, (BrokerMetrics, ReceiveMetrics, verb_of_metrics))
    for file in file_of(upstream_families).parent.glob("*.py"):
        yield file
        yield from (
            ROOT / "emulator/stats" / f"{each}.py" for each in re.findall(r"from \.\.stats\.(\w+)", file.read_text())
        )


CLIENT_TYPES = re.compile(r"(?m)^(_[A-Z_]+) = .*\bpb\.\w+_CONSUMER\b")
"""Tables of the gRPC side that treat client types differently."""


def tables_of_client_types() -> dict[str, Path]:
    """Return the names of all tables of client types outside of the generated files, and their files."""
    return {
        name: file
        for file in (ROOT / "grpc_v2").rglob("*.py")
        if "proto" not in file.parts
        for name in CLIENT_TYPES.findall(file.read_text())
    }


def consumer_files() -> Iterator[Path]:
    """Yield the files that declare kinds of consumers, their modes and the client types of the gRPC side."""
    yield from map(file_of, (consumer_kind, clients, client_bodies, grpc_clients))
    yield from tables_of_client_types().values()


def version_files() -> Iterator[Path]:
    """Yield the files of servers, reports and clients of tests that contain the emulated version."""
    for folder in ("emulator", "remoting", "grpc_v2", "fixtures"):
        for file in (ROOT / folder).rglob("*.py"):
            if re.search(r"import .*\bVERSION_(NUMBER|NAME|5_3_3)\b", file.read_text()):
                yield file


def view_files() -> Iterator[Path]:
    """Yield the files of all lists and views of the web console."""
    yield from map(file_of, (site, *site.LISTS.values()))
    yield from (WEB / "views" / f"{name}.js" for name in views())
    yield from (WEB / f"{name}.js" for name in ("main", "dom", "parts"))


WEB = ROOT / "fixtures" / "console" / "web"


def views() -> list[str]:
    """Return the names of the files of all views, from the tables of `main.js`."""
    text = (WEB / "main.js").read_text()
    listed = text.partition("const VIEWS = [")[2].partition("];")[0]
    others = text.partition("const FILES = {")[2].partition("}")[0]
    named = [name for name in re.findall(r'\["(\w*)", "[^"]+"\]', listed) if name]
    return [*named, *re.findall(r': "(\w+)"', others)]


WALKS: dict[str, Callable[[], Iterable[Path]]] = {
    "Add a request code": request_code_files,
    "Add an RPC": rpc_files,
    "Add a configuration key": key_files,
    "Add a kind of consumer": consumer_files,
    "Add a message property": lambda: map(file_of, (properties, send_service, pop_batch)),
    "Add a fault": fault_files,
    "Add an assertion": assertion_files,
    "Add a counter": counter_files,
    "Add an SDK driver": driver_files,
    "Add an emulated version": version_files,
    "Add a web page": view_files,
    "Add durable state to snapshots": lambda: map(file_of, (durable_state, snapshot_tables, snapshot_checks)),
    "Add a verb to the control port": verb_files,
}


@pytest.mark.parametrize("heading", TWELVE)
def test_each_of_the_twelve_changes_has_a_recipe(heading: str) -> None:
    """The recipe exists, names files that exist, and the list of recipes links to it."""
    assert heading in RECIPES
    assert [path for path in paths(heading) if not path.exists()] == []
    assert f"(#{heading.lower().replace(' ', '-')})" in SECTIONS["Recipes"]


@pytest.mark.parametrize("heading", WALKS)
def test_a_recipe_names_the_files_of_its_table(heading: str) -> None:
    """The recipe names each file in which an entry of its table is declared, or the folder of the file."""
    assert not_named(heading, WALKS[heading]()) == []


@pytest.mark.parametrize("heading", TWELVE)
def test_each_of_the_twelve_recipes_is_walked(heading: str) -> None:
    """A recipe without a walk could miss files that a change needs."""
    assert list(WALKS[heading]())


def test_each_view_of_the_console_has_a_file_and_each_file_belongs_to_a_view() -> None:
    """Files whose name ends in `_parts` are shared by views."""
    files = {file.stem for file in (WEB / "views").glob("*.js") if not file.stem.endswith("_parts")}
    assert files == set(views())


def test_a_file_that_a_recipe_misses_is_found() -> None:
    """A file outside the folders that a recipe names is reported."""
    assert not_named("Add an RPC", [file_of(properties)]) == ["emulator/message/properties.py"]


def keyword_arguments(function: Callable[..., object]) -> list[str]:
    """Return the names of the arguments of a declaration that are passed by name."""
    parameters = inspect.signature(function).parameters.values()
    return [each.name for each in parameters if each.kind is inspect.Parameter.KEYWORD_ONLY]


DECLARATIONS = {
    "Add a request code": keyword_arguments(RequestTable.processor),
    "Add an RPC": [each.name for each in fields(Rpc) if each.kw_only],
    "Add a configuration key": keyword_arguments(keys.key),
    "Add a message property": keyword_arguments(properties._property),
    "Add a verb to the control port": keyword_arguments(type(verbs.TABLE).verb),
}


@pytest.mark.parametrize("heading", DECLARATIONS)
def test_a_recipe_names_each_argument_of_its_declaration(heading: str) -> None:
    """The recipe contains every argument of its declaration, as `name=`."""
    assert [name for name in DECLARATIONS[heading] if f"{name}=" not in RECIPES[heading]] == []


def test_the_recipe_of_a_consumer_names_each_table_of_client_types() -> None:
    """A client type is a row of several tables; one that is forgotten rejects the consumer, or gives it no rights."""
    tables = tables_of_client_types()
    assert len(tables) > 1
    assert [name for name in tables if f"`{name}`" not in RECIPES["Add a kind of consumer"]] == []


def test_declarations_of_requests_and_rpcs_have_no_default_rights() -> None:
    """The rights are a required argument of both declarations, so that nobody forgets them."""
    assert inspect.signature(RequestTable.processor).parameters["rights"].default is inspect.Parameter.empty
    (rights,) = (each for each in fields(Rpc) if each.name == "rights")
    assert rights.default is MISSING
    assert rights.default_factory is MISSING


def test_a_planned_file_does_not_exist_yet() -> None:
    """A path in italics is planned. The change that creates it completes the recipe and writes it in backquotes."""
    planned = re.findall(rf"(?<![*`])\*((?:{FOLDERS})/[^*\s]+)\*", PAGE)
    assert [path for path in planned if (ROOT / path).exists()] == []


TOOLCHAINS = (ROOT / "conformance" / "drivers" / "toolchains").resolve()
"""The only folder of drivers without a driver: it has the class of all recipes."""


def test_each_driver_folder_is_in_the_registry() -> None:
    """Each folder with a recipe belongs to a driver of the registry."""
    folders = {each.parent.resolve() for each in (ROOT / "conformance" / "drivers").glob("*/recipe.py")} - {TOOLCHAINS}
    assert folders == {each.folder.resolve() for each in registry.RECIPES}


def test_no_literal_outside_the_declarations_lists_request_codes_or_rpcs() -> None:
    """Outside the declarations, no literal of `remoting/` and `grpc_v2/` is keyed by several request codes or RPCs.

    The code of each effect (`CODE_OF_EFFECT`) is the declaration of the requests that a broker sends.
    """
    declarations = ("remoting/processors/", "remoting/request/request_code.py", "remoting/request/broker_requests.py")
    names = "|".join(rpc.name for rpc in services.RPCS)
    listed = []
    for path in [*(ROOT / "remoting").rglob("*.py"), *(ROOT / "grpc_v2").rglob("*.py")]:
        file = path.relative_to(ROOT).as_posix()
        if file.startswith((*declarations, "grpc_v2/services/", "grpc_v2/proto/")):
            continue
        text = path.read_text()
        if len(re.findall(r"RequestCode\.[A-Z_0-9]+", text)) > 1 or len(re.findall(rf'"(?:{names})"', text)) > 1:
            listed.append(file)
    assert listed == []
