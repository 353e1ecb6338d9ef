package io.github.rocketmqtestkit.spring;

import io.github.rocketmqtestkit.FailureReport;
import io.github.rocketmqtestkit.RocketMQ;
import org.junit.jupiter.api.extension.AfterTestExecutionCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.test.context.junit.jupiter.SpringExtension;

/** The JUnit 5 extension of {@link RocketMQConnection}. */
final class ConnectionExtension implements ParameterResolver, AfterTestExecutionCallback {
    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
        // Spring itself resolves parameters with @Autowired.
        return parameter.getParameter().getType() == RocketMQ.class && !parameter.isAnnotated(Autowired.class)
                && context.getTestMethod().isPresent();
    }

    @Override
    public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
        return emulator(context);
    }

    /**
     * Reports before Spring closes the context of a test with {@code @DirtiesContext}. A test whose emulator was lost fails
     * here, because Spring only logs the error when it closes the context.
     */
    @Override
    public void afterTestExecution(ExtensionContext context) {
        RocketMQ mq = emulator(context);
        context.getExecutionException().ifPresent(failure -> FailureReport.publish(mq, context, failure));
        mq.requireHold();
    }

    private static RocketMQ emulator(ExtensionContext context) {
        return SpringExtension.getApplicationContext(context).getBean(RocketMQ.class);
    }
}
