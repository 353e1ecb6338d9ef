"""The loop of a driver: commands from standard input, replies and events to standard output. Knows no SDK."""

import json
import os
import queue
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any, TypeVar

from .command import Command, Refusal, bad
from .script import Answers, Did, Script

Fields = dict[str, Any]
Verb = Callable[[Command], Fields | None]
Client = TypeVar("Client")


def plain_error(error: BaseException) -> tuple[int | None, str]:
    """Return the text of an error whose class has no code."""
    return None, str(error)


def protect_stdout() -> int:
    """Redirect standard output, so that an SDK's output does not mix with the replies; return its new descriptor."""
    kept = os.dup(1)
    os.dup2(2, 1)
    return kept


class DriverLoop:
    """One driver: its verbs, its named objects, and the messages with handles.

    ``about`` contains the SDK's fields of ``hello``; ``explain`` extracts code and text from the SDK's errors.
    """

    def __init__(
        self,
        about: Fields,
        out: int,
        explain: Callable[[BaseException], tuple[int | None, str]] = plain_error,
    ) -> None:
        self.verbs: dict[str, Verb] = {"hello": self._hello}
        self._about = about
        self._out = out
        self._explain = explain
        self._lock = threading.Lock()
        self._objects: dict[str, Any] = {}
        self._messages: list[Any] = []

    # --- objects and handles

    def make(self, command: Command, maker: Callable[[], Any]) -> None:
        """Run ``maker`` if the name in ``as`` is free, and store the result under that name."""
        name = command.text("as")
        with self._lock:
            if name in self._objects:
                raise bad(f"an object is called {name!r} already")
            self._objects[name] = None
        made = None
        try:
            made = maker()
        finally:
            with self._lock:
                if made is None:
                    del self._objects[name]
                else:
                    self._objects[name] = made

    def on(self, command: Command, kind: type[Client]) -> Client:
        """Return the object named in ``on``, which must have the kind that the verb needs."""
        name = command.text("on")
        with self._lock:
            if name not in self._objects:
                raise Refusal("UnknownObject", f"no object is called {name!r}")
            found = self._objects[name]
        if not isinstance(found, kind):
            raise bad(f"{name!r} is not a client for this verb")
        return found

    def take(self, command: Command) -> Any:
        """Remove the object named in ``on`` and return it."""
        found = self.on(command, object)
        with self._lock:
            self._objects.pop(command.text("on"), None)
        return found

    def keep(self, message: Any) -> int:
        """Assign a handle to a received message. All messages are kept: a test may acknowledge one twice, or late."""
        with self._lock:
            self._messages.append(message)
            return len(self._messages)

    def kept(self, command: Command) -> list[Any]:
        """Return the messages of the handles in ``h``."""
        with self._lock:
            handles = command.handles()
            for handle in handles:
                if not 1 <= handle <= len(self._messages):
                    raise Refusal("UnknownHandle", f"handle {handle} was never given out")
            return [self._messages[handle - 1] for handle in handles]

    # --- events

    def listen(self, name: str, script: Script, message: Fields, body: bytes) -> Did:
        """Run a push consumer's listener: wait, write the message event, and return the outcome.

        The caller, which knows the SDK's API, fails or raises accordingly.
        """
        now = int(time.time() * 1000)
        if script.begin:
            self._write({"ev": "begin", "of": name, "t": now, "msg": message})
        did = script.act(message, body)
        if not script.quiet:
            self._write({"ev": "msg", "of": name, "t": now, "ok": did == "success", "did": did, "msg": message})
        return did

    def checked(self, name: str, answers: Answers, message: Fields, transaction: str | None = None) -> str:
        """Write the event of a transaction check for the producer ``name``, and return the answer."""
        now = int(time.time() * 1000)
        answer, n = answers.next(message["body"])
        times = message["props"].get("TRANSACTION_CHECK_TIMES")
        self._write(
            {
                "ev": "check",
                "of": name,
                "t": now,
                "n": n,
                "times": int(times) if times else None,
                "transaction": transaction or message["props"].get("__transactionId__"),
                "msg": message,
                "answer": answer,
            }
        )
        return answer

    # --- the loop

    def run(self) -> None:
        """Execute commands until the end of input, which ends the process."""
        commands: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        threading.Thread(target=self._read, args=(commands,), name="driver-stdin", daemon=True).start()
        while True:
            self._perform(commands.get())

    def _read(self, commands: "queue.SimpleQueue[bytes]") -> None:
        for line in sys.stdin.buffer:
            commands.put(line)
        os._exit(0)

    def _perform(self, line: bytes) -> None:
        try:
            fields = json.loads(line)
        except ValueError as error:
            self._refuse(None, bad(f"not JSON: {error}"))
            return
        if not isinstance(fields, dict):
            self._refuse(None, bad("not a JSON object"))
            return
        command = Command(fields)
        verb = fields.get("do")
        if verb == "exit":
            self._write({"i": fields.get("i"), "ok": True})
            os._exit(0)
        if fields.get("bg") is True:
            threading.Thread(target=self._carry_out, args=(command,), name="driver-bg", daemon=True).start()
        else:
            self._carry_out(command)

    def _carry_out(self, command: Command) -> None:
        number = command.fields.get("i")
        begin = time.monotonic()
        try:
            name = command.text("do")
            if name not in self.verbs:
                raise Refusal("UnknownVerb", f"this driver has no verb {name!r}")
            reply = self.verbs[name](command) or {}
        except Refusal as refusal:
            self._refuse(number, refusal)
        except Exception as error:
            traceback.print_exc()
            code, text = self._explain(error)
            self._write(
                {"i": number, "ok": False, "ms": since(begin), "kind": type(error).__name__, "code": code, "err": text}
            )
        else:
            self._write({"i": number, "ok": True, "ms": since(begin), **reply})

    def _refuse(self, number: object, refusal: Refusal) -> None:
        self._write({"i": number, "ok": False, "kind": refusal.kind, "code": None, "err": str(refusal)})

    def _write(self, fields: Fields) -> None:
        line = json.dumps(fields).encode() + b"\n"
        try:
            with self._lock:
                while line:
                    line = line[os.write(self._out, line) :]
        except OSError:
            os._exit(1)  # the reader of the output is closed

    def _hello(self, _command: Command) -> Fields:
        verbs = sorted([*self.verbs, "exit"])
        return {**self._about, "protocol_version": 1, "verbs": verbs}


def since(begin: float) -> float:
    """Return milliseconds since ``begin`` of the monotonic clock."""
    return round((time.monotonic() - begin) * 1000, 3)
