package io.github.rocketmqtestkit;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.platform.testkit.engine.EngineExecutionResults;
import org.junit.platform.testkit.engine.EngineTestKit;

/** Tests that use a running emulator. */
class SidecarTest {
    private static final String VARIABLE = RocketMQ.CONTROL_VARIABLE + "=http://127.0.0.1:8090";

    @Test
    void testWithOptionsOfTheCommandIsRefused() {
        TestSettings settings = new TestSettings();
        assertDoesNotThrow(() -> SharedEmulators.refuseArguments(settings, VARIABLE));
        settings.arguments.addAll(List.of("--brokers", "2"));
        RocketMQException refusal =
                assertThrows(RocketMQException.class, () -> SharedEmulators.refuseArguments(settings, VARIABLE));
        assertEquals(VARIABLE + ": the test has options of the command, --brokers 2, which a running emulator does "
                + "not take; start that emulator with them and remove them here, or unset the variable",
                refusal.getMessage());
    }

    @RocketMQTest(topics = "orders")
    @EmulatedTime(startAt = "2026-01-31T12:00:00Z", frozen = true)
    static class Timed {
        private static final Instant NOON = Instant.parse("2026-01-31T12:00:00Z");
        private static final Instant EARLIER = Instant.parse("2020-01-31T12:00:00Z");

        @Test
        void testMovesTheClock(RocketMQ mq) {
            assertEquals(NOON, mq.clock().now());
            mq.clock().advance(Duration.ofHours(1));
            assertEquals(NOON.plusSeconds(3600), mq.clock().now());
            mq.topic("orders").send("two teas");
        }

        @Test
        void eachTestBeginsAtTheStart(RocketMQ mq) {
            assertEquals(NOON, mq.clock().now());
            mq.topic("orders").assertBodies();
            mq.clock().advance(Duration.ofHours(1));
            mq.topic("orders").send("two teas");
        }

        @Test
        void resetReturnsToTheBeginningOfTheTest(RocketMQ mq) {
            mq.clock().advance(Duration.ofHours(1));
            mq.topic("orders").send("two teas");
            mq.reset();
            assertEquals(NOON, mq.clock().now());
            assertTrue(mq.clock().isFrozen());
            mq.topic("orders").assertBodies();
        }

        @Test
        void resetWithAnotherTimeLastsUntilTheNextOne(RocketMQ mq) {
            mq.reset(new ResetOptions().startAt(EARLIER).frozen(false));
            assertRunsFrom(EARLIER, mq);
            mq.topic("orders").assertBodies();
            mq.reset(new ResetOptions().startAt(EARLIER).keepConnections());
            assertEquals(EARLIER, mq.clock().now());
            mq.resetKeepingConnections();
            assertEquals(NOON, mq.clock().now());
        }

        @Test
        void restoredSnapshotKeepsTheTimeFrozen(RocketMQ mq) {
            Snapshot snapshot = mq.snapshots().create();
            mq.clock().advance(Duration.ofHours(1));
            mq.snapshots().restore(snapshot.id());
            assertEquals(NOON, mq.clock().now());
            assertTrue(mq.clock().isFrozen());
        }

        @Test
        @EmulatedTime(startAt = "2020-01-31T12:00:00Z")
        void annotationOfAMethodReplacesThatOfTheClass(RocketMQ mq) {
            assertRunsFrom(EARLIER, mq);
        }

        @Test
        @EmulatedTime(frozen = true)
        void timeMayBeFrozenAtThePresent(RocketMQ mq) {
            assertTrue(mq.clock().isFrozen());
            assertTrue(Duration.between(mq.clock().now(), Instant.now()).abs().compareTo(Duration.ofMinutes(5)) < 0);
        }

        private static void assertRunsFrom(Instant start, RocketMQ mq) {
            assertFalse(mq.clock().isFrozen());
            assertFalse(mq.clock().now().isBefore(start));
            assertTrue(mq.clock().now().isBefore(start.plusSeconds(60)));
        }
    }

    /** Runs after the tests above. */
    @RocketMQTest
    static class Untimed {
        @Test
        void timeIsThatOfTheEmulator(RocketMQ mq) {
            assertFalse(mq.clock().isFrozen());
            assertTrue(Duration.between(mq.clock().now(), Instant.now()).abs().compareTo(Duration.ofMinutes(5)) < 0);
        }
    }

    @Test
    void testsWithATimePassWithAProcess() {
        EngineExecutionResults results = EngineTestKit.engine("junit-jupiter").selectors(selectClass(Timed.class)).execute();
        assertEquals(List.of(), results.allEvents().failed().list());
        assertEquals(7, results.testEvents().succeeded().count());
    }

    @Test
    void testsWithATimePassWithASidecar() throws IOException {
        try (RocketMQ sidecar = RocketMQ.start();
                Jvm tests = new Jvm(sidecar.controlUrl(), Jvm.Suite.class, Timed.class.getName(), Untimed.class.getName())) {
            assertEquals("8 passed, 0 failed", tests.line());
        }
    }

    @RocketMQTest(arguments = {"--time", "frozen"})
    static class WithArguments {
        @Test
        void neverRuns(RocketMQ mq) {
            mq.clock().now();
        }
    }

    @Test
    void testWithArgumentsFailsWithASidecar() throws IOException {
        try (RocketMQ sidecar = RocketMQ.start();
                Jvm tests = new Jvm(sidecar.controlUrl(), Jvm.Suite.class, WithArguments.class.getName())) {
            assertEquals("0 passed, 1 failed", tests.line());
        }
    }
}
