package io.github.rocketmqtestkit.spring;

import java.util.List;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.test.context.ContextCustomizer;
import org.springframework.test.context.MergedContextConfiguration;

/** Connects an application context to an emulator. Equal topics let tests share a context. */
final class ConnectionCustomizer implements ContextCustomizer {
    private final List<String> topics;

    ConnectionCustomizer(List<String> topics) {
        this.topics = topics;
    }

    @Override
    public void customizeContext(ConfigurableApplicationContext context, MergedContextConfiguration configuration) {
        new RocketMQInitializer(topics.toArray(new String[0])).initialize(context);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof ConnectionCustomizer && topics.equals(((ConnectionCustomizer) other).topics);
    }

    @Override
    public int hashCode() {
        return topics.hashCode();
    }
}
