package io.github.rocketmqtestkit.spring;

import java.util.List;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.test.context.ContextConfigurationAttributes;
import org.springframework.test.context.ContextCustomizer;
import org.springframework.test.context.ContextCustomizerFactory;

/** Finds {@link RocketMQConnection} on a test class or on a class around it. Spring calls it. */
public final class ConnectionCustomizerFactory implements ContextCustomizerFactory {
    @Override
    public ContextCustomizer createContextCustomizer(
            Class<?> testClass, List<ContextConfigurationAttributes> attributes) {
        for (Class<?> type = testClass; type != null; type = type.getEnclosingClass()) {
            RocketMQConnection found = AnnotatedElementUtils.findMergedAnnotation(type, RocketMQConnection.class);
            if (found != null) {
                return new ConnectionCustomizer(List.of(found.topics()));
            }
        }
        return null;
    }
}
