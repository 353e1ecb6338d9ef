"""A real Apache broker of a given version: name server, broker and gRPC proxy from the published jars, on loopback.

    with ApacheBroker("5.3.3", {"transactionCheckInterval": "3000"}) as real:
        connect(real.namesrv, real.endpoint)

Broker and proxy are one process (the proxy's local mode), or two if the settings say `proxy.proxyMode=CLUSTER`. The
name server is another process, and so is the second broker if the settings have keys for one. Each instance has free
ports and a temporary home of its own, so several can run in parallel; `stop` releases both. Versions before 5 have no
proxy and therefore no endpoint.
"""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from rocketmq_testkit.fixtures.network.certificates import process_authority, write_pem

from ..deployment.target import COMMON_SETTINGS, REFERENCE_VERSION, TargetError, settings_by_file
from ..drivers.build import build
from ..drivers.toolchains.java_build import JAVA_TOOLS, copy_jars
from ..drivers.toolchains.recipe import BuildFolders, Launch, Recipe
from .ports import PortBlock
from .registration import wait_registered

START_SECONDS = 240.0
"""Startup timeout; an idle machine needs 6 s."""
STOP_SECONDS = 120.0
"""Graceful shutdown timeout; an idle machine needs 10 s."""

_JVM = (
    "-XX:+UseSerialGC",
    "--add-exports=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/java.util=ALL-UNNAMED",
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
    "--add-opens=java.base/jdk.internal.ref=ALL-UNNAMED",
    # Without a certificate each server generates its own, which takes most of the time of a start.
    "-Dtls.test.mode.enable=false",
    "-Dtls.server.need.client.auth=optional",
)

# Makes a broker suitable for tests on a small shared machine; all other keys have upstream's defaults.
_BROKER_CONF = {
    "brokerClusterName": "DefaultCluster",
    "brokerName": "broker-a",
    "brokerId": "0",
    "brokerIP1": "127.0.0.1",
    "bindAddress": "127.0.0.1",  # replication and the proxy's gRPC server ignore it and listen on all interfaces
    "brokerRole": "ASYNC_MASTER",
    "flushDiskType": "ASYNC_FLUSH",
    "mappedFileSizeCommitLog": str(64 * 1024 * 1024),
    "mappedFileSizeConsumeQueue": "200000",
    "maxHashSlotNum": "100000",
    "maxIndexNum": "400000",
    "diskMaxUsedSpaceRatio": "95",
    "brokerFastFailureEnable": "false",
    "osPageCacheBusyTimeOutMills": "5000",
    "transactionMetricFlushInterval": "500",  # until the first interval ends, a thread polls without pause
}


@dataclass(frozen=True, slots=True)
class _Server:
    """A kind of process: its class, the text that it prints once it serves, and its JVM options."""

    kind: str
    main: str
    sign: str
    jvm: tuple[str, ...]


_NAMESRV = _Server(
    "namesrv",
    "org.apache.rocketmq.namesrv.NamesrvStartup",
    "boot success",
    ("-Xms128m", "-Xmx256m", "-XX:TieredStopAtLevel=1"),
)
_BROKER = _Server(
    "broker",
    "org.apache.rocketmq.broker.BrokerStartup",
    "boot success",
    ("-Xms256m", "-Xmx512m", "-XX:MaxDirectMemorySize=512m"),
)
_PROXY = _Server(
    "proxy",
    "org.apache.rocketmq.proxy.ProxyStartup",
    "startup successfully",
    ("-Xms512m", "-Xmx1g", "-XX:MaxDirectMemorySize=1g"),
)


_LOGBACK = """\
<configuration>
  <appender name="file" class="ch.qos.logback.core.FileAppender">
    <file>${{user.home}}/logs/rocketmqlogs/{kind}.log</file>
    <encoder><pattern>%d %p %t - %m%n</pattern></encoder>
  </appender>
  <root level="INFO"><appender-ref ref="file"/></root>
</configuration>
"""
"""Logging configuration that servers before 5 expect in their home; later ones include it in their jars."""


def has_proxy(version: str) -> bool:
    """True if the version has a gRPC proxy: 5.0 and later."""
    return int(version.partition(".")[0]) >= 5


def recipe(version: str) -> Recipe:
    """Return the recipe that downloads and caches the jars of a version."""

    def fetch(folders: BuildFolders, version: str) -> None:
        copy_jars(folders, version)

    def no_command(_launch: Launch) -> list[str]:
        raise AssertionError("a broker is started by ApacheBroker, not as a driver")

    return Recipe(
        name=f"apache-{version}",
        language="java",
        protocol="remoting",
        package="org.apache.rocketmq:rocketmq-broker",
        version=version,
        folder=Path(__file__).parent / ("apache_jars" if has_proxy(version) else "apache_jars_before_5"),
        build=partial(fetch, version=version),
        command=no_command,
        tools=JAVA_TOOLS,
    )


class ApacheBroker:
    """One running Apache RocketMQ; `settings` go into broker.conf, or into the file that their prefix names.

    `proxy_settings`: keys of rmq-proxy.json whose values are not strings. `jvm`: further JVM options.
    """

    def __init__(
        self,
        version: str = REFERENCE_VERSION,
        settings: Mapping[str, str] | None = None,
        proxy_settings: Mapping[str, object] | None = None,
        jvm: Sequence[str] = (),
    ) -> None:
        self.version = version
        self._jvm = jvm
        self._settings, self._settings_beside, texts = settings_by_file(settings or {})
        self._proxy_settings: dict[str, object] = {"proxyMode": "LOCAL", **texts, **(proxy_settings or {})}
        self._proxy_mode = str(self._proxy_settings["proxyMode"]).lower() if has_proxy(version) else ""
        self._home = Path()
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._spawning = threading.Lock()
        self._stopping = threading.Lock()
        self._stopped = False
        self._ports: PortBlock | None = None
        self.namesrv = ""
        self.broker = ""
        self.endpoint = ""
        self.second_broker = ""
        """The address of the second broker; empty if there is none."""
        self.start_seconds = 0.0
        """Duration from the start of the name server until broker and proxy accept connections."""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def home(self) -> Path:
        """The folder of configuration, store and logs; deleted by `stop`."""
        return self._home

    @property
    def _certificate(self) -> Path:
        """File with key and certificate of all servers."""
        return self._home / "conf" / "server.pem"

    @property
    def pids(self) -> list[int]:
        """Process ids of the name server, of the broker (with or without the proxy), and of further processes."""
        return [process.pid for process in self._processes.values()]

    def start(self) -> None:
        """Start all processes, once, and wait until they serve.

        Raises BuildError if the jars are missing. Raises TargetError if a process does not start, or if `stop` was
        called.
        """
        jars = build(recipe(self.version)) / "lib"
        with self._spawning:
            self._check_wanted()
            self._home = Path(tempfile.mkdtemp(prefix=f"apache-{self.version}-"))
        try:
            self._start(jars)
        except OSError:
            self._check_wanted()  # `stop` may have deleted files meanwhile
            self.stop()
            raise
        except BaseException:
            self.stop()
            raise

    def _start(self, jars: Path) -> None:
        self._ports = ports = PortBlock()
        self.namesrv = f"127.0.0.1:{ports.namesrv}"
        self.broker = f"{self._settings.get('brokerIP1', _BROKER_CONF['brokerIP1'])}:{ports.broker}"
        self.endpoint = f"127.0.0.1:{ports.grpc}" if self._proxy_mode else ""
        conf = self._home / "conf"
        conf.mkdir()
        # Java keeps the private keys of servers in a password-protected store in memory. The type jks saves time: the
        # default type derives its encryption key in ten thousand rounds.
        (conf / "java.security").write_text("keystore.type=jks\n")
        write_pem(process_authority().issue(["localhost", "127.0.0.1"]), self._certificate)
        (conf / "namesrv.conf").write_text(f"listenPort={ports.namesrv}\nbindAddress=127.0.0.1\n")
        settings: dict[str, str] = {
            **_BROKER_CONF,
            **COMMON_SETTINGS,
            "listenPort": str(ports.broker),
            "haListenPort": str(ports.broker + 1),
            "namesrvAddr": self.namesrv,
            "storePathRootDir": str(self._home / "store"),
            **self._settings,
        }
        if self._settings_beside:
            self.second_broker = f"127.0.0.1:{ports.second_broker}"
            settings["brokerIP2"] = "127.0.0.1"  # the address that slaves copy from
            second_broker = {
                **settings,
                "listenPort": str(ports.second_broker),
                "haListenPort": str(ports.second_broker + 1),
                "storePathRootDir": str(self._home / "beside" / "store"),
                **self._settings_beside,
            }
            _write_properties(conf / "second-broker.conf", second_broker)
        _write_properties(conf / "broker.conf", settings)
        proxy = {
            "rocketMQClusterName": settings["brokerClusterName"],
            "namesrvAddr": self.namesrv,
            "localServeAddr": "127.0.0.1",
            "grpcServerPort": ports.grpc,
            "remotingListenPort": ports.remoting,
            "enablePrintJstack": False,
            "grpcThreadPoolNums": 16,
            "tlsTestModeEnable": False,
            "tlsKeyPath": str(self._certificate),
            "tlsCertPath": str(self._certificate),
            **self._proxy_settings,
        }
        (conf / "rmq-proxy.json").write_text(json.dumps(proxy))
        if not self._proxy_mode:
            for server in (_NAMESRV, _BROKER):
                (conf / f"logback_{server.kind}.xml").write_text(_LOGBACK.format(kind=server.kind))
        begin = time.monotonic()
        self._run_name_server(jars)
        self._run_broker(jars)
        if self.second_broker:
            (self._home / "beside").mkdir()
            self._run(jars, _BROKER, "beside", ["-c", str(conf / "second-broker.conf")], home=self._home / "beside")
        if self._proxy_mode and not self._together:
            self.wait_registered()  # a starting proxy creates topics, and exits if no broker is known
            self._run_proxy(jars)
        self.start_seconds = time.monotonic() - begin

    @property
    def _together(self) -> bool:
        """True if broker and proxy are one process."""
        return self._proxy_mode == "local"

    def _run_name_server(self, jars: Path) -> None:
        self._run(jars, _NAMESRV, "namesrv", ["-c", str(self._home / "conf" / "namesrv.conf")])

    def _run_broker(self, jars: Path) -> None:
        if self._together:
            self._run_proxy(jars)
        else:
            self._run(jars, _BROKER, "broker", ["-c", str(self._home / "conf" / "broker.conf")])

    def _run_proxy(self, jars: Path) -> None:
        conf = self._home / "conf"
        switches = ["-pm", self._proxy_mode, "-n", self.namesrv, "-pc", str(conf / "rmq-proxy.json")]
        if self._together:
            switches += ["-bc", str(conf / "broker.conf")]
        self._run(jars, _PROXY, "proxy", switches)

    def wait_registered(self) -> None:
        """Wait until the name server knows all brokers, soon after they accept connections. Raises TargetError."""
        addresses = [address for address in (self.broker, self.second_broker) if address]
        wait_registered(self.namesrv, addresses, self.log_tail)

    @property
    def alive(self) -> bool:
        """True if all processes run."""
        # A copy, since a case may stop a process meanwhile.
        running = [process for process in list(self._processes.values()) if process.poll() is None]
        return len(running) == 2 + bool(self.second_broker) + bool(self._proxy_mode and not self._together)

    def halt(self) -> None:
        """Stop the broker gracefully until `resume`; in local mode the proxy as well. Raises TargetError."""
        self._end(self._own, self._stop_in_order)

    def kill(self) -> None:
        """Kill the processes that `halt` stops, until `resume`."""
        self._end(self._own, _kill)

    def halt_name_server(self) -> None:
        """Stop the name server until `resume_name_server`. Raises TargetError."""
        self._end("namesrv", self._stop_in_order)

    def resume_name_server(self) -> None:
        """Restart the name server, which knows no broker until one registers again. Raises TargetError."""
        self._run_name_server(build(recipe(self.version)) / "lib")

    def resume(self) -> None:
        """Restart the processes that `halt` or `kill` stopped, with the same ports and store. Raises TargetError."""
        self._run_broker(build(recipe(self.version)) / "lib")

    def crash(self) -> None:
        """Kill the processes that `halt` stops, and restart them with the same ports and store. Raises TargetError."""
        self.kill()
        self.resume()

    def _end(self, name: str, how: Callable[[subprocess.Popen[bytes]], None]) -> None:
        how(self._processes[name])  # listed until it has ended: an interrupted run kills the listed processes
        self._processes.pop(name, None)

    def _stop_in_order(self, process: subprocess.Popen[bytes]) -> None:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            _kill(process)  # a state after this kill must not be mistaken for that of a graceful shutdown
            text = f"Apache RocketMQ {self.version} did not shut down gracefully within {STOP_SECONDS:g} s"
            raise TargetError(f"{text}:\n{self.log_tail()}") from None

    @property
    def _own(self) -> str:
        """Name of the broker's process."""
        return "proxy" if self._together else "broker"

    def _run(self, jars: Path, server: _Server, name: str, switches: list[str], *, home: Path | None = None) -> None:
        """Start a process under a name and wait until it serves. `home`: folder of its store and logs."""
        output = self._home / f"{name}.out"
        with output.open("wb") as printed, self._spawning:
            self._check_wanted()
            process = subprocess.Popen(
                [
                    "java",
                    *_JVM,
                    f"-Djava.security.properties={self._home}/conf/java.security",
                    f"-Dtls.server.keyPath={self._certificate}",
                    f"-Dtls.server.certPath={self._certificate}",
                    *self._jvm,
                    *server.jvm,
                    f"-Duser.home={home or self._home}",
                    f"-Drmq.logback.configurationFile=rmq.{server.kind}.logback.xml",
                    "-cp",
                    f"{jars}/*",
                    server.main,
                    *switches,
                ],
                env={**os.environ, "ROCKETMQ_HOME": str(self._home)},
                cwd=self._home,
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C must reach this process first, so that it can stop the broker
            )
            self._processes[name] = process
        deadline = time.monotonic() + START_SECONDS
        while server.sign not in output.read_text(errors="replace"):
            if process.poll() is not None or time.monotonic() > deadline:
                state = "ended" if process.poll() is not None else f"did not start within {START_SECONDS:g} s"
                raise TargetError(f"the {name} of Apache RocketMQ {self.version} {state}:\n{self.log_tail(name)}")
            time.sleep(0.02)

    def _check_wanted(self) -> None:
        """Raise TargetError after `stop`, so that nothing is started behind the caller's back."""
        if self._stopped:
            raise TargetError(f"Apache RocketMQ {self.version} was stopped")

    def log_tail(self, name: str = "", lines: int = 30) -> str:
        """Return the last lines of a process's output (by default the broker's) and of the broker's log."""
        texts = []
        for path in (self._home / f"{name or self._own}.out", self._home / "logs" / "rocketmqlogs" / "broker.log"):
            if path.is_file():
                texts += path.read_text(errors="replace").splitlines()[-lines:]
        return "\n".join(texts)

    def stop(self) -> None:
        """Kill all processes and remove the home; also from another thread, during or before `start`.

        Kills instead of a graceful shutdown, which takes ten seconds: the store is not needed again.
        """
        with self._spawning:
            self._stopped = True
        with self._stopping:  # a second caller waits until all have ended, for the program may end afterwards
            while self._processes:
                _kill(self._processes.popitem()[1])
        if self._ports is not None:
            self._ports.release()
        if self._home != Path():
            shutil.rmtree(self._home, ignore_errors=True)


def _kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


def _write_properties(path: Path, settings: Mapping[str, str]) -> None:
    path.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
