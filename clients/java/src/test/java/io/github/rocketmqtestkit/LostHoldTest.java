package io.github.rocketmqtestkit;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.PipedInputStream;
import java.io.PipedOutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Holds that are lost, and waits for holds that end without one. */
class LostHoldTest {
    private static final Duration SHORT = Duration.ofMillis(50);
    /** As many requests wait for the hold of one emulator at most. */
    private static final int WAITING_MAX = 100;
    private static RocketMQ parent;

    @BeforeAll
    static void start() {
        parent = RocketMQ.start();
    }

    @AfterAll
    static void end() {
        parent.close();
    }

    @Test
    void endOfALostHoldIsAnException() {
        RocketMQ sidecar = parent.fork();
        Hold lost = sidecar.hold("OrderTest.pays", Duration.ZERO);
        sidecar.close();
        HoldLostException loss = assertThrows(HoldLostException.class, lost::close);
        assertEquals(sidecar.controlUrl() + ": the hold of OrderTest.pays was lost before its end, because the emulator "
                + "stopped or the connection was cut; another test may have reset the emulator meanwhile; check that the "
                + "emulator runs until all tests have ended, and run the test again", loss.getMessage());
        assertDoesNotThrow(lost::close);
    }

    @RocketMQTest
    static class Losing {
        @Test
        void passes(RocketMQ mq) throws IOException {
            mq.requireHold();
            Jvm.pause("holds");
        }
    }

    @Test
    void testWhoseEmulatorEndsFails() throws IOException {
        RocketMQ sidecar = parent.fork();
        try (Jvm tests = new Jvm(sidecar.controlUrl(), Jvm.Suite.class, Losing.class.getName())) {
            assertEquals("holds", tests.line());
            sidecar.close();
            tests.resume();
            assertEquals("0 passed, 1 failed", tests.line());
            String failure = tests.line();
            assertTrue(failure.startsWith(HoldLostException.class.getName() + ": " + sidecar.controlUrl()
                    + ": the hold of Losing.passes(RocketMQ) (pid "), failure);
        }
    }

    /** A program with two tests at the same time. */
    static final class Twice {
        public static void main(String[] arguments) {
            RocketMQ mq = RocketMQ.forTest("OrderTest.pays");
            try {
                RocketMQ.forTest("OrderTest.ships");
            } catch (RocketMQException e) {
                System.out.println(e.getMessage());
            }
            mq.close();
        }
    }

    @Test
    void secondTestOfAJvmIsRefusedWithTheNameOfTheFirst() throws IOException {
        try (RocketMQ sidecar = parent.fork(); Jvm tests = new Jvm(sidecar.controlUrl(), Twice.class)) {
            assertEquals(RocketMQ.CONTROL_VARIABLE + "=" + sidecar.controlUrl() + ": the test OrderTest.pays holds the "
                    + "emulator, which is reset for each test; run one test at a time, or unset the variable, so that each "
                    + "test gets a fork", tests.line());
        }
    }

    @Test
    void responseThatIsSilentForLongIsLost() throws IOException {
        try (PipedOutputStream output = new PipedOutputStream(); PipedInputStream input = new PipedInputStream(output)) {
            output.write("{}\n".getBytes(StandardCharsets.UTF_8));
            output.flush();
            try (LastingResponse response = new LastingResponse(input)) {
                assertEquals("{}", response.first());
                assertTrue(response.lasts(Duration.ofMinutes(1)));
                assertFalse(response.lasts(Duration.ZERO));
            }
        }
    }

    @Test
    void emulatorThatDoesNotRespondIsNotWaitedFor() throws IOException {
        try (ServerSocket silent = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            Control control = new Control("http://127.0.0.1:" + silent.getLocalPort(), "");
            RocketMQException refusal = assertThrows(RocketMQException.class,
                    () -> control.lasting("POST", "/v1/hold", Map.of("name", "OrderTest.pays"), SHORT));
            assertTrue(refusal.getMessage().endsWith(": the control port has not responded to POST /v1/hold within 0.05 s; "
                    + "check that the emulator's process is not paused, and start it again if it does not respond"), refusal.getMessage());
            assertThrows(RocketMQException.class, () -> control.ready(SHORT));
        }
    }

    @Test
    void interruptedWaitLeavesTheLine() {
        try (RocketMQ sidecar = parent.fork()) {
            Hold held = sidecar.hold("OrderTest.pays", Duration.ZERO);
            Thread.currentThread().interrupt();
            assertThrows(RocketMQException.class, () -> sidecar.hold("OrderTest.ships", Duration.ofMinutes(1)));
            assertDoesNotThrow(held::close);
            assertTrue(Thread.interrupted());
            sidecar.hold("OrderTest.parks", Duration.ofSeconds(30)).close();
        }
    }

    @Test
    void testIsRefusedIfTooManyWait() throws InterruptedException {
        try (RocketMQ sidecar = parent.fork()) {
            Hold held = sidecar.hold("OrderTest.pays", Duration.ZERO);
            BlockingQueue<String> ends = new LinkedBlockingQueue<>();
            List<Thread> threads = new ArrayList<>();
            for (int number = 0; number <= WAITING_MAX; number++) {
                Thread thread = new Thread(() -> {
                    try (Hold next = sidecar.hold("OrderTest.ships", Duration.ofMinutes(1))) {
                        ends.add("held after " + next.waited());
                    } catch (RocketMQException e) {
                        ends.add(e.status() + " " + e.getMessage());
                    }
                });
                thread.start();
                threads.add(thread);
            }
            assertEquals("503 100 tests wait for the hold of this emulator, which is the most; run fewer test processes "
                    + "at a time, or start an emulator for each", ends.take());
            held.close();
            for (Thread each : threads) {
                each.join();
            }
            assertEquals(WAITING_MAX, ends.stream().filter(end -> end.startsWith("held after ")).count());
        }
    }
}
