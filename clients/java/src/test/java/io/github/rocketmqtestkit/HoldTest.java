package io.github.rocketmqtestkit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests of several JVMs use one emulator, one at a time. */
class HoldTest {
    private static final Duration LONG = Duration.ofSeconds(30);
    private static final int TURNS = 5;
    private static RocketMQ sidecar;

    @BeforeAll
    static void start() {
        sidecar = RocketMQ.start();
    }

    @AfterAll
    static void end() {
        sidecar.close();
    }

    /** A program with several tests, which write their begin and end into a file. */
    static final class Turns {
        public static void main(String[] arguments) throws IOException {
            Path log = Path.of(arguments[1]);
            Jvm.pause("ready");
            for (int turn = 1; turn <= TURNS; turn++) {
                String test = arguments[0] + " " + turn;
                try (RocketMQ mq = RocketMQ.forTest(test, "orders")) {
                    append(log, "begin " + test);
                    List<String> sent = new ArrayList<>();
                    for (int number = 0; number < 10; number++) {
                        sent.add(test + ": " + number);
                        mq.topic("orders").send(sent.get(number));
                    }
                    mq.topic("orders").assertBodies(sent.toArray(new String[0]));
                    append(log, "end " + test);
                }
            }
            System.out.println("passed");
        }

        private static void append(Path log, String line) throws IOException {
            Files.writeString(log, line + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        }
    }

    @Test
    void testsOfTwoJvmsNeverOverlap(@TempDir Path folder) throws IOException {
        Path log = folder.resolve("log");
        try (Jvm first = new Jvm(sidecar.controlUrl(), Turns.class, "first", log.toString());
                Jvm second = new Jvm(sidecar.controlUrl(), Turns.class, "second", log.toString())) {
            for (Jvm each : List.of(first, second)) {
                assertEquals("ready", each.line());
            }
            first.resume();
            second.resume();
            for (Jvm each : List.of(first, second)) {
                assertEquals("passed", each.line());
            }
        }
        List<String> lines = Files.readAllLines(log);
        assertEquals(2 * 2 * TURNS, lines.size());
        for (int at = 0; at < lines.size(); at += 2) {
            assertEquals(lines.get(at).replace("begin", "end"), lines.get(at + 1), String.join("\n", lines));
        }
    }

    /** A program with a test that runs until the other JVM ends it. */
    static final class Holder {
        public static void main(String[] arguments) throws IOException {
            try (RocketMQ mq = RocketMQ.forTest("OrderTest.pays", "orders")) {
                mq.topic("orders").assertBodies();
                Jvm.pause("holds");
            }
            Jvm.pause("ended");
        }
    }

    @Test
    void holdIsRefusedWithTheNameOfTheTestThatHasIt() throws IOException {
        try (Jvm holder = new Jvm(sidecar.controlUrl(), Holder.class)) {
            assertEquals("holds", holder.line());
            RocketMQException refusal =
                    assertThrows(RocketMQException.class, () -> sidecar.hold("OrderTest.ships", Duration.ZERO));
            assertEquals(409, refusal.status());
            assertEquals("OrderTest.pays (pid " + holder.process.pid() + ") has held the emulator for N s; one test at a "
                    + "time uses an emulator that is reset for each test; run the test processes one after another, or "
                    + "start an emulator for each", refusal.getMessage().replaceFirst("for \\d+ s", "for N s"));
            sidecar.reset();
            assertThrows(RocketMQException.class, () -> sidecar.hold("OrderTest.ships", Duration.ZERO));
            holder.resume();
            assertEquals("ended", holder.line());
            sidecar.hold("OrderTest.ships", LONG).close();
        }
    }

    @Test
    void killedJvmHoldsNothing() throws IOException, InterruptedException {
        try (Jvm holder = new Jvm(sidecar.controlUrl(), Holder.class)) {
            assertEquals("holds", holder.line());
            holder.process.destroyForcibly().waitFor();
            try (Hold next = sidecar.hold("OrderTest.ships", LONG)) {
                assertTrue(next.waited().compareTo(LONG) < 0);
            }
        }
    }

    @Test
    void holdEndsAtOnceWithItsTest() {
        for (int turn = 0; turn < 3; turn++) {
            sidecar.hold("OrderTest.pays", Duration.ofSeconds(5)).close();
        }
    }

    @Test
    void interruptedWaitLeavesNoHold() {
        try (Hold held = sidecar.hold("OrderTest.pays", LONG)) {
            assertEquals(Duration.ZERO, held.waited());
            Thread.currentThread().interrupt();
            assertThrows(RocketMQException.class, () -> sidecar.hold("OrderTest.ships", LONG));
            assertTrue(Thread.interrupted());
        }
        sidecar.hold("OrderTest.parks", LONG).close();
    }

    @Test
    void nameOfALongTestIsCut() {
        String name = SharedEmulators.holder("x".repeat(300));
        assertEquals(200, name.length());
        assertTrue(name.endsWith("x (pid " + ProcessHandle.current().pid() + ")"), name);
    }

    @Test
    void emulatorWithoutHoldsIsTooOld() throws IOException {
        HttpServer old = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        old.createContext("/", exchange -> {
            boolean isReady = exchange.getRequestURI().getPath().equals("/readyz");
            String answer = isReady ? "{\"endpoint\": \"127.0.0.1:8081\"}" : Json.write(Map.of(
                    "type", "urn:rocketmq-testkit:problem:unknown-path", "detail", "/v1/hold: there is no such path"));
            byte[] bytes = answer.getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(isReady ? 200 : 404, bytes.length);
            exchange.getResponseBody().write(bytes);
            exchange.close();
        });
        old.start();
        try {
            String url = "http://127.0.0.1:" + old.getAddress().getPort();
            RocketMQ mq = RocketMQ.connect(url);
            RocketMQException refusal = assertThrows(RocketMQException.class,
                    () -> SharedEmulators.hold(mq, "OrderTest.pays", RocketMQ.CONTROL_VARIABLE + "=" + url));
            assertEquals(RocketMQ.CONTROL_VARIABLE + "=" + url + ": the emulator is too old, because it cannot be held by "
                    + "one test at a time (POST /v1/hold); use a rocketmq-emulator of the version of this library",
                    refusal.getMessage());
        } finally {
            old.stop(0);
        }
    }
}
