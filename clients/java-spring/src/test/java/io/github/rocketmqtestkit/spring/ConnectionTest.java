package io.github.rocketmqtestkit.spring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import io.github.rocketmqtestkit.HoldLostException;
import io.github.rocketmqtestkit.RocketMQ;
import io.github.rocketmqtestkit.RocketMQException;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.testkit.engine.EngineTestKit;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.support.GenericApplicationContext;
import org.springframework.core.env.Environment;
import org.springframework.core.env.MapPropertySource;
import org.springframework.test.annotation.DirtiesContext;
import org.springframework.test.context.TestPropertySource;
import org.springframework.test.context.junit.jupiter.SpringJUnitConfig;

@SpringJUnitConfig(ConnectionTest.Application.class)
@RocketMQConnection(topics = {"orders", "payments:FIFO:4"})
class ConnectionTest {
    @Configuration
    static class Application {}

    @Autowired
    private RocketMQ bean;

    @Test
    void emulatorIsABeanAndAParameter(RocketMQ mq, @Autowired Environment environment) {
        assertSame(bean, mq);
        mq.topic("orders").assertBodies();
        mq.topic("payments").assertBodies();
        assertEquals(mq.nameServer(), environment.getProperty("rocketmq.name-server"));
        assertEquals(mq.endpoint(), environment.getProperty("rocketmq.producer.endpoints"));
        assertEquals(mq.endpoint(), environment.getProperty("rocketmq.push-consumer.endpoints"));
        assertNull(environment.getProperty("rocketmq.simple-consumer.endpoints"));
    }

    @Nested
    @TestPropertySource(properties = {"rocketmq.simple-consumer.topic=orders", "rocketmq-testkit.topics=teas,cups"})
    class WithASimpleConsumer {
        @Test
        void endpointAndTopicsOfPropertiesAreSet(RocketMQ mq, @Autowired Environment environment) {
            assertEquals(mq.endpoint(), environment.getProperty("rocketmq.simple-consumer.endpoints"));
            mq.topic("orders").assertBodies();
            mq.topic("teas").assertBodies();
            mq.topic("cups").assertBodies();
        }
    }

    @Test
    void emulatorEndsWithItsContext() {
        RocketMQ mq;
        try (GenericApplicationContext context = new GenericApplicationContext()) {
            context.getEnvironment().getPropertySources().addFirst(new MapPropertySource(
                    "test", java.util.Map.of(RocketMQInitializer.TOPICS_PROPERTY, "orders")));
            new RocketMQInitializer().initialize(context);
            context.refresh();
            mq = context.getBean(RocketMQ.class);
            mq.topic("orders").send("two teas");
        }
        assertThrows(RocketMQException.class, () -> mq.topic("orders").list());
    }

    @SpringJUnitConfig(Application.class)
    @RocketMQConnection(topics = "orders")
    @DirtiesContext(classMode = DirtiesContext.ClassMode.AFTER_EACH_TEST_METHOD)
    static class Failing {
        @Test
        void orderIsShipped(RocketMQ mq) {
            mq.topic("orders").send("two teas");
            throw new IllegalStateException("no tea");
        }
    }

    @Test
    void failureHasTheHistoryOfMessages() {
        Throwable failure = EngineTestKit.engine("junit-jupiter").selectors(selectClass(Failing.class)).execute()
                .testEvents().failed().list().get(0).getRequiredPayload(TestExecutionResult.class)
                .getThrowable().orElseThrow();
        assertEquals("no tea", failure.getMessage());
        assertTrue(failure.getSuppressed()[0].toString().contains(" of orders\n"));
    }

    @SpringJUnitConfig(Application.class)
    @RocketMQConnection
    static class Losing {
        @Test
        void passes() throws IOException {
            System.out.println("holds");
            System.in.read();
        }
    }

    /** A program that runs a class of tests as a build tool does, and prints their failures. */
    static final class Suite {
        public static void main(String[] arguments) {
            EngineTestKit.engine("junit-jupiter").selectors(selectClass(Losing.class)).execute()
                    .testEvents().failed().stream()
                    .map(event -> event.getRequiredPayload(TestExecutionResult.class).getThrowable().orElseThrow())
                    .forEach(System.out::println);
        }
    }

    @Test
    void testWhoseEmulatorEndsFails(RocketMQ mq) throws IOException {
        RocketMQ sidecar = mq.fork();
        ProcessBuilder builder = new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-cp",
                System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
                Suite.class.getName()).redirectError(ProcessBuilder.Redirect.INHERIT);
        builder.environment().put(RocketMQ.CONTROL_VARIABLE, sidecar.controlUrl());
        Process tests = builder.start();
        try (BufferedReader output = new BufferedReader(
                new InputStreamReader(tests.getInputStream(), StandardCharsets.UTF_8))) {
            assertTrue(output.lines().anyMatch("holds"::equals));
            sidecar.close();
            tests.getOutputStream().write('\n');
            tests.getOutputStream().flush();
            String start = HoldLostException.class.getName() + ": " + sidecar.controlUrl() + ": the hold of ";
            assertTrue(output.lines().anyMatch(line -> line.startsWith(start)));
        } finally {
            tests.destroyForcibly();
        }
    }
}
