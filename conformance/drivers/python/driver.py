"""Driver program of the Python SDK of the gRPC protocol (rocketmq-python-client)."""

import argparse
import base64
import importlib
import importlib.metadata
import os
from collections.abc import Callable
from typing import Any

from ..python_common.command import Command, bad, unsupported
from ..python_common.line import DriverLoop, Fields, protect_stdout
from ..python_common.load import drain, send_many
from ..python_common.script import TRANSACTION_OUTCOMES, Answers, Script

_PACKAGE = "rocketmq-python-client"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--endpoint", required=True, metavar="HOST:PORT")
    parser.add_argument("--tls", action="store_true")
    parser.add_argument("--ca", metavar="FILE", help="the certificates to trust")
    parser.add_argument(
        "--slow",
        action="store_true",
        help="no effect: the SDK's intervals are never shortened",
    )
    return parser.parse_args()


def _credentials(sdk: Any) -> Any:
    access_key, secret_key = (os.environ.get(f"TESTKIT_{each}_KEY") for each in ("ACCESS", "SECRET"))
    return sdk.Credentials(access_key, secret_key) if access_key else sdk.Credentials()


class PythonVerbs:
    """The verbs; ``sdk`` and ``wire`` are the SDK's modules, imported after standard output is protected."""

    def __init__(self, options: argparse.Namespace, driver: DriverLoop, sdk: Any, wire: Any) -> None:
        self._driver = driver
        self._sdk = sdk
        self._wire = wire
        self._tls: bool = options.tls
        self._endpoint: str = options.endpoint
        driver.verbs.update(
            {
                "producer": self._producer,
                "send": self._send,
                "send_async": self._send_async,
                "send_many": self._send_many,
                "send_tx": self._send_tx,
                "recall": self._recall,
                "simple": self._simple,
                "receive": self._receive,
                "ack": self._ack,
                "invisible": self._invisible,
                "drain": self._drain,
                "push": self._push,
                "count": self._count,
                "close": self._close,
            }
        )

    def _configuration(self, command: Command) -> Any:
        return self._sdk.ClientConfiguration(
            self._endpoint, _credentials(self._sdk), namespace=command.text("namespace", "")
        )

    # --- producers

    def _producer(self, command: Command) -> None:
        name = command.text("as")
        answers = Answers.of(command)
        checker = None if answers is None else self._checker(name, answers)

        def make() -> Any:
            producer = self._sdk.Producer(
                self._configuration(command), command.texts("topics"), checker=checker, tls_enable=self._tls
            )
            producer.startup()
            return producer

        self._driver.make(command, make)

    def _checker(self, name: str, answers: Answers) -> Any:
        driver = self._driver
        resolutions = {
            "COMMIT": self._sdk.TransactionResolution.COMMIT,
            "ROLLBACK": self._sdk.TransactionResolution.ROLLBACK,
            "UNKNOWN": self._sdk.TransactionResolution.TRANSACTION_RESOLUTION_UNSPECIFIED,
        }

        class Checker(self._sdk.TransactionChecker):  # type: ignore[misc, name-defined]  # the SDK is not installed here
            def check(self, message: Any) -> Any:
                return resolutions[driver.checked(name, answers, show(message))]

        return Checker()

    def _message(self, command: Command, body: bytes | None = None, keys: list[str] | None = None) -> Any:
        for field in ("delay_level", "queue"):
            if command.has(field):
                raise unsupported(f"this SDK has no {field}")
        message = self._sdk.Message()
        message.topic = command.text("topic")
        message.body = command.data("body") if body is None else body
        if command.has("tag"):
            message.tag = command.text("tag")
        for key in command.texts("keys") if keys is None else keys:
            message.keys = key  # the setter adds one key
        for name, value in command.pairs("props").items():
            message.add_property(name, value)
        if command.has("group"):
            message.message_group = command.text("group")
        if command.has("deliver_at"):
            message.delivery_timestamp = seconds(command.number("deliver_at"))
        return message

    def _send(self, command: Command) -> Fields:
        producer = self._driver.on(command, self._sdk.Producer)
        return receipt(producer.send(self._message(command)))

    def _send_async(self, command: Command) -> Fields:
        producer = self._driver.on(command, self._sdk.Producer)
        return receipt(producer.send_async(self._message(command)).result())

    def _send_many(self, command: Command) -> Fields:
        producer = self._driver.on(command, self._sdk.Producer)
        return send_many(command, lambda body, keys: producer.send(self._message(command, body, keys)))

    def _send_tx(self, command: Command) -> Fields:
        outcome = command.text("outcome")
        if outcome not in TRANSACTION_OUTCOMES:
            raise bad(f"outcome is none of {', '.join(TRANSACTION_OUTCOMES)}")
        producer = self._driver.on(command, self._sdk.Producer)
        transaction = producer.begin_transaction()
        reply = receipt(producer.send(self._message(command), transaction))
        if outcome == "COMMIT":
            transaction.commit()
        elif outcome == "ROLLBACK":
            transaction.rollback()
        return reply

    def _recall(self, command: Command) -> Fields:
        producer = self._driver.on(command, self._sdk.Producer)
        return {"id": producer.recall_message(command.text("topic"), command.text("handle"))}

    # --- consumers

    def _subscriptions(self, command: Command) -> dict[str, Any]:
        types = {"TAG": self._wire.FilterType.TAG, "SQL92": self._wire.FilterType.SQL}
        made = {}
        for topic, filter_ in command.table("sub").items():
            kind = filter_.text("type", "TAG").upper()
            if kind not in types:
                raise bad(f"filter type {kind!r} is neither TAG nor SQL92")
            made[topic] = self._sdk.FilterExpression(filter_.text("expr", "*"), types[kind])
        if not made:
            raise bad("field 'sub' is missing")
        return made

    def _simple(self, command: Command) -> None:
        group = command.text("group")
        subscriptions = self._subscriptions(command)
        more = {"await_duration": seconds(command.number("await_ms"))} if command.has("await_ms") else {}

        def make() -> Any:
            consumer = self._sdk.SimpleConsumer(
                self._configuration(command), group, subscriptions, tls_enable=self._tls, **more
            )
            consumer.startup()
            return consumer

        self._driver.make(command, make)

    def _take(self, command: Command) -> list[Any]:
        consumer = self._driver.on(command, self._sdk.SimpleConsumer)
        return list(consumer.receive(command.number("max", 32), seconds(command.number("invisible_ms", 30_000))) or ())

    def _receive(self, command: Command) -> Fields:
        return {"messages": [show(message, self._driver.keep(message)) for message in self._take(command)]}

    def _ack(self, command: Command) -> None:
        consumer = self._driver.on(command, self._sdk.SimpleConsumer)
        for message in self._driver.kept(command):
            consumer.ack(message)

    def _invisible(self, command: Command) -> None:
        consumer = self._driver.on(command, self._sdk.SimpleConsumer)
        duration = seconds(command.number("ms"))
        for message in self._driver.kept(command):
            consumer.change_invisible_duration(message, duration)

    def _drain(self, command: Command) -> Fields:
        consumer = self._driver.on(command, self._sdk.SimpleConsumer)

        def take() -> tuple[int, int]:
            messages = self._take(command)
            failed = 0
            for message in messages:
                try:
                    consumer.ack(message)
                except Exception:
                    failed += 1
            return len(messages), failed

        return drain(command, take)

    def _push(self, command: Command) -> None:
        name = command.text("as")
        group = command.text("group")
        subscriptions = self._subscriptions(command)
        # The message order of a gRPC push consumer is a property of its group; the SDK has no option for it.
        if command.text("mode", "concurrent") not in ("concurrent", "orderly"):
            raise unsupported(f"a gRPC push consumer has no mode {command.text('mode')!r}")
        if command.has("suspend"):
            raise unsupported("a listener of this SDK cannot suspend")
        script = Script.of(command)
        listener = self._listener(name, script)
        more = {"consumption_thread_count": command.number("threads")} if command.has("threads") else {}

        def make() -> PythonPushConsumer:
            consumer = self._sdk.PushConsumer(
                self._configuration(command), group, listener, subscriptions, tls_enable=self._tls, **more
            )
            consumer.startup()
            return PythonPushConsumer(consumer.shutdown, script)

        self._driver.make(command, make)

    def _listener(self, name: str, script: Script) -> Any:
        driver = self._driver
        results = self._sdk.ConsumeResult

        class Listener(self._sdk.MessageListener):  # type: ignore[misc, name-defined]  # the SDK is not installed here
            def consume(self, message: Any) -> Any:
                did = driver.listen(name, script, show(message) if script.needs_fields else {}, message.body)
                if did == "throw":
                    raise RuntimeError("the listener throws, as the script says")
                return results.SUCCESS if did == "success" else results.FAILURE

        return Listener()

    def _count(self, command: Command) -> Fields:
        return {"count": self._driver.on(command, PythonPushConsumer).script.calls}

    def _close(self, command: Command) -> None:
        self._driver.take(command).shutdown()


class PythonPushConsumer:
    """A push consumer and the script of its listener."""

    def __init__(self, shutdown: Callable[[], None], script: Script) -> None:
        self.shutdown = shutdown
        self.script = script


def show(message: Any, handle: int | None = None) -> Fields:
    """Convert a message to JSON of PROTOCOL.md; the SDK shows no queue or offset, and zero for no delivery time."""
    return {
        "h": handle,
        "id": message.message_id,
        "topic": message.topic,
        "body": base64.b64encode(message.body or b"").decode(),
        "tag": message.tag,
        "keys": sorted(message.keys),
        "props": dict(message.properties),
        "group": message.message_group,
        "attempt": message.delivery_attempt,
        "queue": None,
        "offset": None,
        "born": message.born_timestamp,
        "deliver_at": message.delivery_timestamp or None,
        "stored": None,
        "offset_id": None,
        "broker": None,
        "born_host": message.born_host or None,
        "store_host": None,
    }


def receipt(sent: Any) -> Fields:
    """Return the reply of a send."""
    return {
        "id": sent.message_id,
        "offset": sent.offset,
        "transaction": sent.transaction_id or None,
        "recall": sent.recall_handle,
    }


def seconds(ms: int) -> int:
    """Convert milliseconds to the SDK's whole seconds, rounded up so that nothing happens early."""
    return -(-ms // 1000)


def explain(error: BaseException) -> tuple[int | None, str]:
    """Return code and text of an error of the SDK or of its transport."""
    code = getattr(error, "code", None)
    if callable(code):  # grpc.aio.AioRpcError
        return code().value[0], str(getattr(error, "details", lambda: error)())
    # The text of an SDK's error starts with its code; the first argument is the text without it.
    return code, str(error.args[0]) if code and error.args else str(error)


def main() -> None:
    """Run the driver."""
    options = _options()
    out = protect_stdout()
    if options.ca:
        # The SDK trusts gRPC's default certificates, and gRPC reads this variable when it is loaded.
        os.environ["GRPC_DEFAULT_SSL_ROOTS_FILE_PATH"] = options.ca
    # Imported by name: type checkers need not find it, and standard output and certificates must be set up first.
    sdk, wire = importlib.import_module("rocketmq"), importlib.import_module("rocketmq.grpc_protocol")
    about = {
        "sdk": _PACKAGE,
        "version": importlib.metadata.version(_PACKAGE),
        "language": "python",
        "protocol": "grpc",
        "modes": ["concurrent", "orderly"],
        "outcomes": ["success", "fail", "hang", "throw"],
        "options": ["namespace"],
    }
    driver = DriverLoop(about, out, explain)
    PythonVerbs(options, driver, sdk, wire)
    driver.run()


if __name__ == "__main__":
    main()
