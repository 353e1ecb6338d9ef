package io.github.rocketmqtestkit.spring;

import io.github.rocketmqtestkit.RocketMQ;
import java.util.LinkedHashMap;
import java.util.Map;
import org.springframework.beans.factory.support.DefaultListableBeanFactory;
import org.springframework.context.ApplicationContextInitializer;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.core.env.ConfigurableEnvironment;
import org.springframework.core.env.EnumerablePropertySource;
import org.springframework.core.env.MapPropertySource;
import org.springframework.core.env.PropertySource;

/**
 * Starts an emulator for an application context, and sets the properties with which both Spring starters of RocketMQ
 * connect to it: {@code rocketmq.name-server}, and {@code endpoints} of {@code rocketmq.producer},
 * {@code rocketmq.push-consumer} and, if it has other properties, {@code rocketmq.simple-consumer}.
 *
 * <p>{@link RocketMQConnection} uses it. Without that annotation, the property {@code rocketmq-testkit.topics} has the
 * topics, separated by commas.
 */
public final class RocketMQInitializer implements ApplicationContextInitializer<ConfigurableApplicationContext> {
    /** The property with the topics. */
    public static final String TOPICS_PROPERTY = "rocketmq-testkit.topics";
    private static final String SIMPLE_CONSUMER = "rocketmq.simple-consumer.";

    private final String[] topics;

    /** Takes the topics from the property. Spring calls it. */
    public RocketMQInitializer() {
        this(new String[0]);
    }

    /** Takes the topics, and those of the property. */
    public RocketMQInitializer(String... topics) {
        this.topics = topics.clone();
    }

    @Override
    public void initialize(ConfigurableApplicationContext context) {
        ConfigurableEnvironment environment = context.getEnvironment();
        RocketMQ mq = RocketMQ.forTest("with the application context " + context.getDisplayName(), topics);
        try {
            for (String topic : environment.getProperty(TOPICS_PROPERTY, String[].class, new String[0])) {
                mq.createTopic(topic);
            }
        } catch (RuntimeException e) {
            mq.close();
            throw e;
        }
        Map<String, Object> properties = new LinkedHashMap<>();
        properties.put("rocketmq.name-server", mq.nameServer());
        properties.put("rocketmq.producer.endpoints", mq.endpoint());
        properties.put("rocketmq.push-consumer.endpoints", mq.endpoint());
        if (hasSimpleConsumer(environment)) {
            // The starter creates a simple consumer if it has an endpoint, and that needs a group and a topic.
            properties.put(SIMPLE_CONSUMER + "endpoints", mq.endpoint());
        }
        environment.getPropertySources().addFirst(new MapPropertySource("rocketmq-testkit", properties));
        DefaultListableBeanFactory beans = (DefaultListableBeanFactory) context.getBeanFactory();
        beans.registerSingleton("rocketMQ", mq);
        // The first registered bean is destroyed last: clients close before the emulator ends.
        beans.registerDisposableBean("rocketMQ", mq::close);
    }

    private static boolean hasSimpleConsumer(ConfigurableEnvironment environment) {
        for (PropertySource<?> source : environment.getPropertySources()) {
            if (source instanceof EnumerablePropertySource) {
                for (String name : ((EnumerablePropertySource<?>) source).getPropertyNames()) {
                    if (name.startsWith(SIMPLE_CONSUMER)) {
                        return true;
                    }
                }
            }
        }
        return false;
    }
}
