package io.github.rocketmqtestkit.spring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import io.github.rocketmqtestkit.RocketMQ;
import io.github.rocketmqtestkit.RocketMQException;
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
}
