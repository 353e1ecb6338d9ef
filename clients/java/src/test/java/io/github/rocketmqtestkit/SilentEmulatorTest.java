package io.github.rocketmqtestkit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.time.Duration;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** Requests to an emulator whose process is paused, and requests that take long. */
class SilentEmulatorTest {
    private static final Duration SHORT = Duration.ofMillis(100);
    private static final Duration SECOND = Duration.ofSeconds(1);
    private RocketMQ mq;
    private long process;

    @BeforeEach
    void start() {
        Set<Long> before = children();
        mq = RocketMQ.start();
        List<Long> started = children().stream().filter(each -> !before.contains(each)).collect(Collectors.toList());
        assertEquals(1, started.size());
        process = started.get(0);
    }

    @AfterEach
    void end() {
        mq.close();
    }

    private static Set<Long> children() {
        return ProcessHandle.current().children().map(ProcessHandle::pid).collect(Collectors.toSet());
    }

    private void signal(String name) throws IOException, InterruptedException {
        assertEquals(0, new ProcessBuilder("kill", "-" + name, Long.toString(process)).inheritIO().start().waitFor());
    }

    /** Checks that requests end while the process of the emulator is paused. */
    private void assertEnd(Map<String, Executable> requests) throws IOException, InterruptedException {
        signal("STOP");
        try {
            requests.forEach((name, request) -> {
                String text = assertThrows(RocketMQException.class, request, name).getMessage();
                assertTrue(text.matches("http://127.0.0.1:\\d+: the control port has responded neither to " + name
                        + " for [\\d.]+ s nor to GET /healthz for 0.1 s; check that the emulator's process is not paused, and "
                        + "start it again if it does not respond"), text);
            });
        } finally {
            signal("CONT");
        }
        mq.clock().now();
    }

    @Test
    void requestsOfAPausedEmulatorEnd() throws IOException, InterruptedException {
        Control control = new Control(mq.controlUrl(), "", SHORT);
        assertEnd(Map.of(
                "GET /v1/clock", () -> new Clock(control).now(),
                "POST /v1/reset", () -> control.post("/v1/reset", Map.of()),
                "POST /v1/clock/advance", () -> new Clock(control).advance(Duration.ofDays(1)),
                "PATCH /v1/config", () -> new Brokers(control).configure(Map.of("popPollingSize", "5")),
                "DELETE /v1/faults", () -> new Faults(control).clear(),
                "GET /metrics", () -> control.text("/metrics"),
                "GET /v1/snapshot", () -> new Snapshots(control).save(),
                "GET /v1/journal/follow", () -> new Journal(control).follow(Lines.all()).close()));
    }

    @Test
    void connectionToAPausedEmulatorEnds() throws IOException, InterruptedException {
        signal("STOP");
        try {
            String text = assertThrows(RocketMQException.class, () -> new Control(mq.controlUrl(), "").ready(SHORT)).getMessage();
            assertEquals(mq.controlUrl() + ": the control port has not responded to GET /readyz within 0.1 s; check that the "
                    + "emulator's process is not paused, and start it again if it does not respond", text);
        } finally {
            signal("CONT");
        }
    }

    @Test
    void streamOfAPausedEmulatorEnds() throws IOException, InterruptedException {
        Control control = new Control(mq.controlUrl(), "", SHORT);
        mq.createTopic("orders").send("two teas");
        try (Stream<JournalEvent> lines = new Journal(control).follow(Lines.all().topic("orders").operation("SendMessage"))) {
            Iterator<JournalEvent> next = lines.iterator();
            assertEquals("orders", next.next().topic());
            assertEnd(Map.of("GET /v1/journal/follow.*", next::hasNext));
        }
    }

    @Test
    void requestThatTakesLongIsNotCut() {
        Control control = new Control(mq.controlUrl(), "", SECOND);
        Map<String, String> body = Map.of("name", "nobody", "timeout", "2500ms");
        assertEquals(504, assertThrows(RocketMQException.class, () -> control.post("/v1/wait/producer", body)).status());
    }

    @Test
    void streamThatIsSilentForLongIsNotCut() throws InterruptedException {
        Control control = new Control(mq.controlUrl(), "", SECOND);
        mq.createTopic("teas");
        try (Stream<JournalEvent> lines = new Journal(control).follow(Lines.all().topic("teas").operation("SendMessage"))) {
            assertThrows(RocketMQException.class, () -> mq.waitForProducer("nobody", Duration.ofMillis(2500)));
            mq.topic("teas").send("one tea");
            assertEquals("teas", lines.iterator().next().topic());
        }
    }
}
