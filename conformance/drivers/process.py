"""Driver processes: start them, send commands, match replies, collect events.

Knows the message format of PROTOCOL.md (numbers, replies, events), and of the verbs only ``hello`` and ``exit``. All of
it is thread-safe.
"""

import base64
import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any

from rocketmq_testkit.remoting.client import Credentials
from rocketmq_testkit.remoting.client.closeable import Closeable

from . import registry
from .build import Announce, build, require_tools
from .toolchains.recipe import Launch

Fields = dict[str, Any]
"""The fields of one JSON object of the protocol."""

START_SECONDS = 60.0
"""Start timeout. A JVM takes 2 s on an idle machine; on a loaded one it may take much longer."""
REPLY_SECONDS = 60.0
EXIT_SECONDS = 2.0
_STDERR_LINES = 60


class DriverError(Exception):
    """The reply to a command has ``"ok": false``; ``kind``, ``code`` and ``err`` are those of the reply.

    ``command`` describes the command in the text of the error: its verb in quotes, or a few words.
    """

    def __init__(self, driver: str, command: str, reply: Mapping[str, Any]) -> None:
        self.kind = str(reply.get("kind"))
        self.code: int | None = reply.get("code")
        self.err = str(reply.get("err"))
        super().__init__(f"{driver} answered {command} with {self.kind} (code {self.code}): {self.err}")


class DriverFailure(Exception):
    """A driver process could not be started, died, or did not reply in time; the text ends with its last output."""


@dataclass(frozen=True, slots=True)
class Addresses:
    """Broker addresses for drivers: ``namesrv`` for remoting, ``endpoint`` for gRPC, both ``host:port``.

    ``tls`` enables TLS; ``ca`` is the certificate that drivers verify with if their SDK can. With ``credentials``
    requests are signed; drivers do not support security tokens of temporary credentials.
    """

    namesrv: str
    endpoint: str
    tls: bool = False
    ca: Path | None = None
    _: KW_ONLY
    credentials: Credentials | None = None

    @property
    def environment(self) -> dict[str, str]:
        """Secrets, which must not appear on a command line that every user of the machine can read."""
        if self.credentials is None:
            return {}
        return {"TESTKIT_ACCESS_KEY": self.credentials.access_key, "TESTKIT_SECRET_KEY": self.credentials.secret_key}


class Driver(Closeable):
    """One driver process; a context manager that ends the process.

    ``words`` is its command line, and ``environment`` is added to this process's environment. ``home`` is its HOME and
    is kept at the end unless ``remove_home``. Without ``home`` the process gets a temporary folder, which is removed
    with it.
    """

    def __init__(
        self,
        name: str,
        words: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        home: Path | None = None,
        remove_home: bool = False,
    ) -> None:
        self.name = name
        self.home = home or _new_home(name)
        self._remove_home = remove_home or home is None
        self._changed = threading.Condition()
        self._events: list[Fields] = []
        self._waiting: dict[int, tuple[str, Future[Fields]]] = {}
        self._last_number = 0
        self._output: deque[str] = deque(maxlen=_STDERR_LINES)
        self._ended = False
        self._closed = False
        try:
            self._process = subprocess.Popen(
                list(words),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**os.environ, **(environment or {}), "HOME": str(self.home)},
                cwd=self.home,
                # A process group of its own: its children end with it, and a test run's interrupt does not reach it.
                start_new_session=True,
            )
        except OSError as error:
            self._forget_home()
            raise DriverFailure(f"the {name} driver cannot be started: {words[0]}: {error.strerror}") from error
        assert self._process.stdin is not None
        self._stdin = self._process.stdin
        self._write_lock = threading.Lock()
        self._log_reader = threading.Thread(target=self._read_log, name=f"{name}-stderr", daemon=True)
        self._reader = threading.Thread(target=self._read_lines, name=f"{name}-stdout", daemon=True)
        self._log_reader.start()
        self._reader.start()
        self._hello = self.post("hello")

    @property
    def pids(self) -> list[int]:
        """The process id of the driver, which has no child processes of its own."""
        return [self._process.pid]

    # --- commands

    @property
    def hello(self) -> Fields:
        """The reply of ``hello``; waits for the start. Raises DriverFailure if the process does not start."""
        return self._result(repr("hello"), self._hello, START_SECONDS)

    @property
    def verbs(self) -> frozenset[str]:
        """The verbs that this driver's SDK supports."""
        return frozenset(self.hello["verbs"])

    @property
    def modes(self) -> frozenset[str]:
        """The modes that its push consumers support."""
        return frozenset(self.hello.get("modes", ()))

    @property
    def outcomes(self) -> frozenset[str]:
        """The outcomes that listeners of its push consumers support."""
        return frozenset(self.hello.get("outcomes", ()))

    @property
    def allocations(self) -> frozenset[str]:
        """The allocation strategies that its push consumers support."""
        return frozenset(self.hello.get("allocations", ()))

    @property
    def options(self) -> frozenset[str]:
        """Additional options with which its producers and consumers can be created."""
        return frozenset(self.hello.get("options", ()))

    def post(self, verb: str, **fields: Any) -> Future[Fields]:
        """Send a command and return the future of its reply.

        Append an underscore to a field name that is a Python keyword (``as_``). Bytes are sent as base64, at any depth.
        The future contains the reply unchanged, with ``ok`` true or false.
        """
        future: Future[Fields] = Future()
        with self._changed:
            self._last_number += 1
            number = self._last_number
            self._waiting[number] = (verb, future)
            ended = self._ended
        if ended:
            self._fail_waiting()
            return future
        command = {"i": number, "do": verb, **{name.rstrip("_"): _sendable(value) for name, value in fields.items()}}
        line = json.dumps(command).encode() + b"\n"
        # The reader reports a driver that has died, because it knows the exit code.
        with self._write_lock, contextlib.suppress(BrokenPipeError, ValueError):
            self._stdin.write(line)
            self._stdin.flush()
        return future

    def call(self, verb: str, *, timeout: float = REPLY_SECONDS, **fields: Any) -> Fields:
        """Send a command, wait up to ``timeout`` seconds for its reply, and return it.

        Raises DriverError if the reply has ``"ok": false``, DriverFailure if there is no reply.
        """
        return self._result(repr(verb), self.post(verb, **fields), timeout)

    def result(self, future: Future[Fields], *, timeout: float = REPLY_SECONDS) -> Fields:
        """Return the reply of a posted command; raises the errors of ``call``."""
        return self._result("a posted command", future, timeout)

    def _result(self, command: str, future: Future[Fields], timeout: float) -> Fields:
        try:
            reply = future.result(timeout)
        except FutureTimeoutError:
            raise self._failure(f"did not answer {command} within {timeout:g} s") from None
        if not reply.get("ok"):
            raise DriverError(self.name, command, reply)
        return reply

    # --- events

    def events(self, of: str | None = None) -> list[Fields]:
        """Return the events so far in order of arrival, or only those of the object ``of``."""
        with self._changed:
            return [event for event in self._events if of is None or event.get("of") == of]

    def messages(self, of: str) -> list[Fields]:
        """Return the messages that the push consumer ``of`` has received so far, including failed attempts."""
        return [event["msg"] for event in self.events(of) if event["ev"] == "msg"]

    def wait_for_event(self, predicate: Callable[[Fields], bool], timeout: float = 30.0) -> Fields:
        """Return the first event that ``predicate`` accepts, waiting up to ``timeout`` seconds for it."""
        found: list[Fields] = []

        def look(events: Sequence[Fields]) -> bool:
            found.extend(event for event in events if predicate(event))
            return bool(found)

        self.wait_until(look, timeout)
        return found[0]

    def wait_until(self, predicate: Callable[[Sequence[Fields]], bool], timeout: float = 30.0) -> None:
        """Wait until ``predicate``, called with all events so far, is true.

        Raises DriverFailure after ``timeout`` seconds, or if the process ends earlier.
        """
        deadline = time.monotonic() + timeout
        with self._changed:
            while not predicate(self._events):
                rest = deadline - time.monotonic()
                if self._ended or rest <= 0:
                    break
                self._changed.wait(rest)
            else:
                return
            count = len(self._events)
        problem = "ended" if self._ended else f"did not send the expected event within {timeout:g} s"
        raise self._failure(f"{problem} ({count} events)")

    # --- end

    def close(self) -> None:
        """Make the process exit; after two seconds kill it and its children."""
        if self._closed:
            return
        self._closed = True
        self.post("exit")
        with self._write_lock, contextlib.suppress(OSError):
            self._stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(EXIT_SECONDS)
        # Also after a clean exit: children may still run.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._reader.join(EXIT_SECONDS)
        self._log_reader.join(EXIT_SECONDS)
        self._forget_home()

    def kill(self) -> None:
        """Kill the process at once, like a crash."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _forget_home(self) -> None:
        if self._remove_home:
            shutil.rmtree(self.home, ignore_errors=True)

    # --- readers

    def _read_lines(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                self._accept(line)
        self._process.wait()
        # The last output of a dying process is the interesting part.
        self._log_reader.join(EXIT_SECONDS)
        with self._changed:
            self._ended = True
            self._changed.notify_all()
        self._fail_waiting()

    def _accept(self, line: bytes) -> None:
        try:
            fields = json.loads(line)
        except ValueError:
            fields = None
        if not isinstance(fields, dict):
            self._output.append("on stdout: " + line.decode(errors="replace").rstrip())
            return
        if "ev" in fields:
            with self._changed:
                self._events.append(fields)
                self._changed.notify_all()
            return
        with self._changed:
            _, future = self._waiting.pop(fields.get("i", 0), ("", None))
        if future is None:
            self._output.append("reply to no pending command: " + line.decode(errors="replace").rstrip())
        else:
            future.set_result(fields)

    def _read_log(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr as lines:
            for line in lines:
                self._output.append(line.decode(errors="replace").rstrip())

    def _fail_waiting(self) -> None:
        with self._changed:
            waiting, self._waiting = self._waiting, {}
        for verb, future in waiting.values():
            if verb != "exit":
                future.set_exception(self._failure(f"exited before it answered {verb!r}"))

    def _failure(self, problem: str) -> DriverFailure:
        code = self._process.poll()
        state = "" if code is None else f" (exit code {code})"
        output = "\n".join(self._output) or "(nothing)"
        return DriverFailure(f"the {self.name} driver {problem}{state}; its last output:\n{output}")


def start(
    name: str, addresses: Addresses, *, slow: bool = False, load: bool = False, announce: Announce | None = None
) -> Driver:
    """Build the driver of the SDK ``name`` if needed and start it with ``addresses``; does not wait for its hello.

    ``slow`` keeps the SDK's default intervals, which are long. ``load`` starts a process tuned for load (see Launch).
    ``announce`` shows a build in progress. Raises LookupError, BuildError or DriverFailure.
    """
    recipe = registry.recipe(name)
    launch = Launch(built=build(recipe, announce), home=_new_home(name), load=load)
    words = list(recipe.command(launch))
    # A cached build may have outlived the runtime that it needs.
    require_tools(recipe, words[0])
    words += ["--namesrv", addresses.namesrv] if recipe.protocol == "remoting" else ["--endpoint", addresses.endpoint]
    if addresses.tls:
        words.append("--tls")
        words += ["--ca", str(addresses.ca)] if addresses.ca else []
    if slow:
        words.append("--slow")
    return Driver(
        name,
        words,
        environment={**recipe.environment(launch), **addresses.environment},
        home=launch.home,
        remove_home=True,
    )


@contextlib.contextmanager
def running(names: Sequence[str], addresses: Addresses, *, slow: bool = False) -> Iterator[list[Driver]]:
    """Start several drivers in parallel (a name may occur twice), wait for each, and end them all at the exit."""
    with contextlib.ExitStack() as stack:
        drivers = [stack.enter_context(start(name, addresses, slow=slow)) for name in names]
        for driver in drivers:
            assert driver.hello["ok"]
        yield drivers


def body(message: Mapping[str, Any]) -> bytes:
    """Return the body of a message in the protocol's format."""
    return base64.b64decode(message["body"])


def _new_home(name: str) -> Path:
    return Path(tempfile.mkdtemp(prefix=f"driver-{name}-"))


def _sendable(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, Mapping):
        return {key: _sendable(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_sendable(item) for item in value]
    return value
