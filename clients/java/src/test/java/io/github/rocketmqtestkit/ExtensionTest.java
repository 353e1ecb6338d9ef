package io.github.rocketmqtestkit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.junit.platform.testkit.engine.EngineExecutionResults;
import org.junit.platform.testkit.engine.EngineTestKit;
import org.junit.platform.testkit.engine.Event;

/** The extension, in test classes that JUnit runs inside of these tests. */
class ExtensionTest {
    private static EngineExecutionResults run(Class<?> tests) {
        return EngineTestKit.engine("junit-jupiter")
                .configurationParameter("junit.jupiter.execution.parallel.enabled", "true")
                .configurationParameter("junit.jupiter.execution.parallel.config.strategy", "fixed")
                .configurationParameter("junit.jupiter.execution.parallel.config.fixed.parallelism", "2")
                .selectors(selectClass(tests)).execute();
    }

    private static Throwable failure(EngineExecutionResults results) {
        Event failed = results.allEvents().failed().list().get(0);
        return failed.getRequiredPayload(org.junit.platform.engine.TestExecutionResult.class)
                .getThrowable().orElseThrow();
    }

    private static void assertAllSucceed(Class<?> tests, int count) {
        EngineExecutionResults results = run(tests);
        results.allEvents().failed().list().forEach(event -> fail(failure(results)));
        assertEquals(count, results.testEvents().succeeded().count());
    }

    @RocketMQTest(topics = "orders")
    @Fault(then = "drop_response", operation = "SendMessage", times = 1)
    static class Annotated {
        private static final Set<String> ENDPOINTS = ConcurrentHashMap.newKeySet();
        private RocketMQ prepared;

        @BeforeEach
        void prepare(RocketMQ mq) {
            mq.topic("orders").assertBodies().assertNotSent();
            prepared = mq;
        }

        @AfterEach
        void check(RocketMQ mq) {
            assertSame(prepared, mq);
            assertTrue(ENDPOINTS.add(mq.endpoint()), "a fork was used twice");
        }

        @Test
        void allMethodsOfATestGetTheSameEmulator(RocketMQ mq) {
            assertSame(prepared, mq);
            mq.topic("orders").send("two teas");
            assertEquals(1, rules(mq).size());
        }

        @ParameterizedTest
        @ValueSource(strings = {"a", "b"})
        void eachInvocationHasItsOwn(String body, RocketMQ mq) {
            mq.topic("orders").send(body);
            mq.topic("orders").assertBodies(body);
        }

        @Test
        @RocketMQTest(topics = {"payments:FIFO:4", "reminders"})
        @Fault(then = "{\"delay_response\": {\"duration\": \"2s\"}}", topic = "payments", group = "billing")
        @Fault(preset = "lossy-acks")
        void methodAddsTopicsAndRules(RocketMQ mq) {
            mq.topic("payments").assertBodies();
            mq.topic("reminders").assertBodies();
            assertTrue(rules(mq).size() >= 3);
        }

        @Nested
        @EmulatedTime(startAt = "2026-01-31T12:00:00Z", frozen = true)
        class InTheMorning {
            @Test
            void timeStandsAtTheStart(RocketMQ mq) {
                assertEquals(Instant.parse("2026-01-31T12:00:00Z"), mq.clock().now());
                mq.clock().advance(Duration.ofHours(1));
                assertEquals(Instant.parse("2026-01-31T13:00:00Z"), mq.clock().now());
            }

            @Test
            void eachTestBeginsAtTheStart(RocketMQ mq) {
                assertEquals(Instant.parse("2026-01-31T12:00:00Z"), mq.clock().now());
            }

            @Test
            @EmulatedTime(startAt = "2020-01-31T12:00:00Z")
            void timeOfAMethodReplacesThatOfItsClass(RocketMQ mq) {
                Instant start = Instant.parse("2020-01-31T12:00:00Z");
                assertFalse(mq.clock().now().isBefore(start));
                assertTrue(mq.clock().now().isBefore(start.plusSeconds(60)));
            }
        }
    }

    private static List<?> rules(RocketMQ mq) {
        return (List<?>) mq.control().get("/v1/faults").get("rules");
    }

    @Test
    void annotationsPrepareTheEmulatorOfEachTest() {
        Annotated.ENDPOINTS.clear();
        assertAllSucceed(Annotated.class, 7);
    }

    @RocketMQTest(topics = "orders")
    static class Failing {
        static RocketMQ used;

        @Test
        void orderIsShipped(RocketMQ mq) {
            used = mq;
            mq.control().post("/v1/groups", Map.of("name", "warehouse"));
            mq.topic("orders").send(NewMessage.of("two teas").keys("1001"));
            throw new IllegalStateException("no tea");
        }
    }

    @Test
    void failureHasTheHistoryOfMessages() {
        EngineExecutionResults results = run(Failing.class);
        Throwable failure = failure(results);
        assertEquals("no tea", failure.getMessage());
        String report = failure.getSuppressed()[0].toString();
        assertTrue(report.startsWith("messages that are not acknowledged:\n"), report);
        assertTrue(report.contains(" of orders\n") && report.contains("sent"), report);
        assertEquals(1, results.allEvents().reportingEntryPublished().count());
    }

    @Test
    void emulatorEndsWithAFailedTest() {
        run(Failing.class);
        assertThrows(RocketMQException.class, () -> Failing.used.clock().now());
    }

    @RocketMQTest(topics = "orders:FIFOO")
    static class WrongTopic {
        @Test
        void orderIsShipped(RocketMQ mq) {}
    }

    @Test
    void emulatorThatCannotBePreparedIsOneError() {
        Throwable failure = failure(run(WrongTopic.class));
        assertTrue(failure.getMessage().endsWith("did you mean FIFO?"), failure.getMessage());
        assertEquals(0, failure.getSuppressed().length);
    }

    @RocketMQTest(topics = "orders")
    static class Hanging {
        static RocketMQ used;

        @Test
        @Timeout(value = 2, unit = TimeUnit.SECONDS)
        void orderIsShipped(RocketMQ mq) {
            used = mq;
            mq.topic("orders").send("two teas");
            mq.clock().advanceUntil(() -> false);
        }
    }

    @Test
    void emulatorEndsWithATestThatHasTimedOut() {
        Throwable failure = failure(run(Hanging.class));
        assertTrue(failure.getMessage().contains("timed out after 2 seconds"), failure.getMessage());
        assertTrue(List.of(failure.getSuppressed()).stream().anyMatch(each -> each.toString().contains(" of orders\n")));
        assertThrows(RocketMQException.class, () -> Hanging.used.clock().now());
    }

    @RocketMQTest(topics = "orders", isolation = Isolation.RESET)
    static class Serial {
        private static final Set<String> ENDPOINTS = ConcurrentHashMap.newKeySet();

        @ParameterizedTest
        @ValueSource(ints = {1, 2, 3})
        void emulatorIsResetBeforeEach(int number, RocketMQ mq) {
            mq.topic("orders").assertBodies();
            mq.topic("orders").send("two teas");
            ENDPOINTS.add(mq.endpoint());
        }
    }

    @Test
    void resetKeepsTheAddresses() {
        assertAllSucceed(Serial.class, 3);
        assertEquals(1, Serial.ENDPOINTS.size());
    }

    @RocketMQTest(isolation = Isolation.RESET)
    @Execution(ExecutionMode.CONCURRENT)
    static class AtTheSameTime {
        private static final CyclicBarrier BOTH = new CyclicBarrier(2);

        @BeforeEach
        void meet() throws InterruptedException, BrokenBarrierException {
            BOTH.await();
        }

        @AfterEach
        void part() throws InterruptedException, BrokenBarrierException {
            BOTH.await();
        }

        @Test
        void first(RocketMQ mq) {
            mq.clock().now();
        }

        @Test
        void second(RocketMQ mq) {
            mq.clock().now();
        }
    }

    @Test
    void resetIsRefusedWhileAnotherTestHoldsTheEmulator() {
        EngineExecutionResults results = run(AtTheSameTime.class);
        assertEquals(1, results.testEvents().succeeded().count());
        String refusal = failure(results).getMessage();
        assertTrue(refusal.contains("isolation=RESET: the test AtTheSameTime."), refusal);
        assertTrue(refusal.contains("holds the emulator, which is reset for each test; run one test at a time"), refusal);
    }

    @RocketMQTest
    static class BeforeAllTests {
        @BeforeAll
        static void prepare(RocketMQ mq) {
            mq.clock().now();
        }

        @Test
        void nothing() {}
    }

    @Test
    void parameterOutsideOfATestIsRefused() {
        String refusal = failure(run(BeforeAllTests.class)).getMessage();
        assertTrue(refusal.contains("prepare(RocketMQ): belongs to no test"), refusal);
    }

    @RocketMQTest(topics = "orders:FIFOO")
    static class Misspelled {
        @Test
        void unused(RocketMQ mq) {
            fail("the topic was created");
        }
    }

    @Test
    void wrongTopicFailsTheTestWithTheSentence() {
        assertTrue(failure(run(Misspelled.class)).getMessage().contains("FIFOO"));
    }

    @Test
    void argumentsOfTheCommandAreThoseOfTheTest() {
        assertAllSucceed(TwoBrokers.class, 1);
        assertNotEquals(Set.of(), TwoBrokers.brokers);
    }

    @RocketMQTest(arguments = {"--brokers", "2"})
    static class TwoBrokers {
        static Object brokers = Set.of();

        @Test
        void masters(RocketMQ mq) {
            brokers = mq.control().get("/v1/brokers").get("brokers");
            assertEquals(2, ((List<?>) brokers).size());
        }
    }
}
