"""A PostgreSQL server of pytest-postgresql: its start, its content, and the processor time of its processes."""

import os
import resource
import time
from pathlib import Path

import psycopg
from pytest_postgresql.executors import PostgreSQLExecutor

from .figures import BODY, MESSAGES

PG_CTL = Path("/usr/lib/postgresql/15/bin/pg_ctl")
"""Of Debian's package `postgresql-15`."""
OPTIONS = "-c fsync=off -c synchronous_commit=off"
"""For tests, which need no durable data."""
TICKS = os.sysconf("SC_CLK_TCK")


class ProcessorTime:
    """Seconds of processor time of this process, of its commands that have ended, and of one running server.

    A server's time is counted in steps of 10 ms, so that only a mean of many repeats is exact.
    """

    def __init__(self) -> None:
        self.server: PostgreSQLExecutor | None = None

    def __call__(self) -> float:
        commands = resource.getrusage(resource.RUSAGE_CHILDREN)
        return time.process_time() + commands.ru_utime + commands.ru_stime + self._of_server()

    def _of_server(self) -> float:
        if self.server is None:
            return 0.0
        file = Path(self.server.datadir) / "postmaster.pid"
        if not file.exists():
            return 0.0
        pid = file.read_text().split("\n", 1)[0]
        running = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return sum(map(_ticks, (pid, *running))) / TICKS


def _ticks(pid: str) -> int:
    """Return the processor time of a process and of its children that have ended; 0 if it has ended itself."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return sum(map(int, fields[11:15]))


processor_time = ProcessorTime()
"""The one of this process. The fixtures of the measured tests set its server."""


def new_server(folder: Path, port: int) -> PostgreSQLExecutor:
    """Return a server that is not started yet, with the options of the fixture."""
    return PostgreSQLExecutor(
        executable=str(PG_CTL),
        host="127.0.0.1",
        port=port,
        datadir=str(folder / "data"),
        unixsocketdir=str(folder),
        logfile=str(folder / "log"),
        startparams="-w",
        dbname="tests",
        user="postgres",
        postgres_options=OPTIONS,
    )


def first_response(server: PostgreSQLExecutor, database: str = "postgres") -> None:
    """Connect a client as soon as the server accepts it, and query a constant."""
    while True:
        try:
            connection = connect(server, database)
        except psycopg.OperationalError:  # the port is open before the server has started up
            if not server.running():
                raise
        else:
            connection.execute("SELECT 1")
            connection.close()
            return


def connect(server: PostgreSQLExecutor, database: str) -> "psycopg.Connection":
    """Return a connection to a database."""
    return psycopg.connect(host=server.host, port=server.port, user=server.user, dbname=database)


def fill(host: str, port: int, user: str, dbname: str, *, password: str | None, **_options: bool) -> None:
    """Store the messages in a table of a database."""
    with psycopg.connect(host=host, port=port, user=user, dbname=dbname, password=password) as connection:
        connection.execute("CREATE TABLE orders (id serial PRIMARY KEY, body bytea)")
        with connection.cursor().copy("COPY orders (body) FROM STDIN") as copy:
            for _ in range(MESSAGES):
                copy.write_row((BODY,))
