"""The tests that each stage runs: folders, files and markers."""

import environments

PROTOCOLS = ("tests/remoting", "tests/grpc_v2")
ENGINE_AND_PROTOCOLS = ("tests/emulator", *PROTOCOLS, "tests/behaviour", "tests/fixtures")
"""Tests that need only Python. They also run with another Python."""
LIBRARIES_OF_FIXTURES = (
    "tests/fixtures/test_plugin.py",
    "tests/fixtures/test_emulator.py",
    "tests/fixtures/test_command.py",
    "tests/fixtures/test_control.py",
    "tests/fixtures/test_control_http.py",
    "tests/fixtures/test_metrics.py",
    "tests/fixtures/test_tls.py",
    "tests/conformance/test_page_text.py",
    "tests/conformance/test_terminal.py",
)
"""Tests of fixtures and conformance that use each library; the others start more processes and import nothing else."""
COMPILED_SAMPLE = (
    "tests/emulator",
    *PROTOCOLS,
    "tests/behaviour",
    "tests/fixtures/state",
    "tests/fixtures/test_journal_packing.py",
    "tests/fixtures/test_reported_bugs.py",
    *LIBRARIES_OF_FIXTURES,
)
"""Tests of a usual run with compiled modules; `make test-compiled` runs the others too."""
USES_LIBRARIES = (*PROTOCOLS, *LIBRARIES_OF_FIXTURES)
"""Tests that use the libraries. The engine's tests are not among them because it imports only the standard library."""
CLIENTS = ("tests/clients",)
"""Tests of the emulator with real SDKs and Apache's own tools."""
REAL_BROKERS = ("tests/clients/test_real_broker.py", "tests/clients/test_real_authentication.py")
"""Tests of the conformance suite with real brokers, which need a sixth of the time of all tests of clients."""
CODES_SEEN = ("tests/conformance/test_codes_seen.py",)
"""Runs all cases a second time, to find codes that no case provokes."""
SIDECAR = ("tests/sidecar",)
"""Tests of the image: build, start, use and measure it."""
EXECUTABLE = ("tests/executable",)
"""Tests of the executable, which they build first."""
SUITES_OF_HELPERS = (
    "tests/clients/test_java_helper.py",
    "tests/clients/test_java_suite.py",
    "tests/clients/test_go_helper.py",
    "tests/clients/test_node_helper.py",
    "tests/clients/test_oldest_runtimes.py",
    "tests/clients/test_pages_of_rust_and_cpp.py",
)
"""Helpers and example applications in other languages, and the pages about them.

Their tests find no Python in PATH and, with the executable, none on the machine.
"""
OF_EXECUTABLE = "executable"
"""Marker of tests that run with the executable only, such as the suites of the helpers themselves.

The other tests of helpers run with the installed command.
"""
CONSOLE = ("tests/console",)
"""Tests of the web console in Chromium, with Selenium."""
EXPLORATION = ("tests/exploration",)
"""Tests that explore small applications with the Python SDK (75 s of the stage) and with that of Java (30 s)."""
SPARK = ("spark_tests",)
"""Tests of the emulator with Spark sessions, one session per worker."""
SPARK_CONNECT = ("spark_tests/connect",)
"""Tests with sessions of Spark Connect. Where pandas is not installed, pytest does not collect them."""
OF_OTHER_STAGES = (*CLIENTS, *SIDECAR, *CODES_SEEN, *EXPLORATION, *EXECUTABLE, *CONSOLE)
WITHOUT_OTHER_STAGES = [f"--ignore={folder}" for folder in OF_OTHER_STAGES]
WITHOUT_REAL_BROKERS = [f"--ignore={file}" for file in REAL_BROKERS]
NEWEST_ALONE = ("test_both_sdks.py", "test_coverage.py", "test_wire.py")
WITHOUT_NEWEST = [f"--ignore=tests/grpc_v2/{name}" for name in NEWEST_ALONE]
"""Tests that import the official SDK or protoc, which need the newest protobuf."""
OLDEST_PYTEST = "7.4.0"
"""An older pytest, for applications that use the plugin."""
BEHAVIOUR = ("tests/behaviour",)
"""Rules that recorded cases verify with the newest libraries. `libraries` verifies them with others."""
USES_PROTOBUF = ("tests/grpc_v2",)
MIDDLE_PROTOBUFS = {
    environments.PROTOBUF_5: USES_PROTOBUF,
    environments.PROTOBUF_6: ("tests/emulator", *PROTOCOLS, "tests/fixtures"),
}
"""Environments with major versions of protobuf between the oldest and the newest, and their tests.

The other stages use the oldest and the newest.
"""
PROTOCOL_SAMPLE = (
    "tests/grpc_v2/test_fuzz.py",
    "tests/grpc_v2/test_send.py",
    "tests/grpc_v2/test_receive.py",
    "tests/grpc_v2/test_telemetry.py",
    "tests/remoting/test_requests.py",
)
"""Tests of protocols in a usual run with other versions of libraries.

Every message of the protocols is decoded and encoded in them.
"""
