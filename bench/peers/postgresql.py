"""Measures PostgreSQL databases that pytest-postgresql clones from a template for each test.

The server refuses to run as root; `bench/testkit.py` runs this as the user `postgres` then.
"""

import socket
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from pytest_postgresql.executors import PostgreSQLExecutor
from pytest_postgresql.janitor import DatabaseJanitor

from .figures import (
    COPY,
    EMPTY,
    FIXTURE,
    FIXTURE_COPY,
    KIB,
    MEMORY,
    RESTORE,
    SAVE,
    START,
    STOP,
    Figure,
    Times,
    show,
    times_of,
)
from .fixture_times import times_of_fixture
from .postgresql_server import OPTIONS, PG_CTL, connect, fill, first_response, new_server, processor_time

CONFTEST = f"""
import pytest
from peers.postgresql_server import fill, processor_time
from pytest_postgresql import factories

options = dict(executable="{PG_CTL}", port=None, unixsocketdir="FOLDER", postgres_options="{OPTIONS}")
empty_proc = factories.postgresql_proc(**options)
filled_proc = factories.postgresql_proc(**options, load=[fill])
_empty = factories.postgresql("empty_proc")
_filled = factories.postgresql("filled_proc")

@pytest.fixture
def empty(_empty, empty_proc):
    processor_time.server = empty_proc

@pytest.fixture
def filled(_filled, filled_proc):
    processor_time.server = filled_proc
"""


def janitor(server: PostgreSQLExecutor, name: str, template: str | None = None) -> DatabaseJanitor:
    """Return the part of pytest-postgresql that creates and drops a database."""
    return DatabaseJanitor(
        user=server.user,
        host=server.host,
        port=server.port,
        dbname=name,
        template_dbname=template,
        as_template=name.startswith("template-"),
    )


def free_port() -> int:
    """Return a free port."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def main(repeats: int) -> None:
    """Print the figures."""
    pytest_postgresql = version("pytest-postgresql")
    with tempfile.TemporaryDirectory() as folder:
        server = new_server(Path(folder), free_port())
        tool = f"PostgreSQL {server.version}, pytest-postgresql {pytest_postgresql}"
        server.init_directory()
        starts, stops = Times(processor_time), Times()
        processor_time.server = server
        for _ in range(min(repeats, 10)):
            try:
                with starts:
                    server.start()
                    first_response(server)
            finally:
                with stops:
                    server.stop()
        starts.means().shown(tool, START, "`pg_ctl start` with `fsync=off`, SELECT 1, after an `initdb`")
        stops.cpu_ms = []  # the processor time of a server that has ended cannot be read
        stops.shown(tool, STOP, "`pg_ctl stop -m fast`")
        server.start()
        try:
            databases(tool, server, Path(folder), repeats)
        finally:
            server.stop()
        processor_time.server = None
        conftest = CONFTEST.replace("FOLDER", folder)
        for step, fixture in ((FIXTURE, "empty"), (FIXTURE_COPY, "filled")):
            times = times_of_fixture(Path(folder) / fixture, fixture, conftest, repeats, cpu=processor_time)
            times.means().shown(tool, step, "CREATE DATABASE ... TEMPLATE, connection, DROP DATABASE")


def databases(tool: str, server: PostgreSQLExecutor, folder: Path, repeats: int) -> None:
    """Print the figures of databases of one server."""
    place = {"host": server.host, "port": server.port, "user": server.user, "password": None}
    for template in ("template-empty", "template-filled"):
        janitor(server, template).init()
    fill(dbname="template-filled", **place)

    def clone_of(template: str) -> None:
        janitor(server, "clone", template).init()
        first_response(server, "clone")

    def drop() -> None:
        janitor(server, "clone").drop()

    def filled() -> None:
        drop()
        clone_of("template-filled")

    def empty_again() -> None:
        drop()
        clone_of("template-empty")

    times = times_of(empty_again, repeats, filled, cpu=processor_time)
    times.means().shown(tool, EMPTY, "DROP DATABASE, CREATE DATABASE, SELECT 1")
    times = times_of(lambda: clone_of("template-filled"), repeats, drop, cpu=processor_time)
    times.means().shown(tool, COPY, "CREATE DATABASE ... TEMPLATE, SELECT 1")
    with connect(server, "clone") as connection:
        row = connection.execute("SELECT pg_database_size('clone'), pg_database_size('template-empty')").fetchone()
    if row is None:
        raise AssertionError("the server does not tell the size of a database")
    show(Figure(tool, MEMORY, f"pages on disk, of which an empty database has {row[1] // KIB:,} KiB", kib=row[0] / KIB))
    dump = folder / "dump"

    def client(program: str, *words: str) -> None:
        where = ["-h", server.host, "-p", str(server.port), "-U", server.user]
        subprocess.run([PG_CTL.with_name(program), *where, *words], check=True)

    def restore() -> None:
        client("pg_restore", "-d", "clone", str(dump))

    times = times_of(lambda: client("pg_dump", "-Fc", "-f", str(dump), "clone"), 5, cpu=processor_time)
    times.means().shown(tool, SAVE, "`pg_dump -Fc`")

    def cleared() -> None:
        drop()
        clone_of("template-empty")

    times_of(restore, 5, cleared, cpu=processor_time).means().shown(
        tool, RESTORE, "`pg_restore` into an empty database"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]))
