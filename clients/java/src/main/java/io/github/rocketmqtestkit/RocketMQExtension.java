package io.github.rocketmqtestkit;

import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import org.junit.jupiter.api.extension.ExtensionContext.Store;
import org.junit.jupiter.api.extension.ExtensionContext.Store.CloseableResource;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolutionException;
import org.junit.jupiter.api.extension.ParameterResolver;

/** The JUnit 5 extension of {@link RocketMQTest}. */
final class RocketMQExtension implements ParameterResolver, AfterEachCallback {
    private static final Namespace NAMESPACE = Namespace.create(RocketMQExtension.class);
    private static final String KEY = "emulator";

    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
        return parameter.getParameter().getType() == RocketMQ.class;
    }

    @Override
    public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
        if (context.getTestMethod().isEmpty()) {
            throw new ParameterResolutionException(parameter.getDeclaringExecutable().getName()
                    + "(RocketMQ): belongs to no test, and each test has an emulator of its own; tests, @BeforeEach and "
                    + "@AfterEach may have the parameter; declare it there, or call RocketMQ.start()");
        }
        Store store = context.getStore(NAMESPACE);
        Held held = store.get(KEY, Held.class);
        if (held == null) {
            held = new Held(context); // a store would keep its exception, and throw it again at the end of the test
            store.put(KEY, held);
        }
        return held.mq;
    }

    @Override
    public void afterEach(ExtensionContext context) {
        Held held = context.getStore(NAMESPACE).get(KEY, Held.class);
        if (held != null) {
            context.getExecutionException().ifPresent(failure -> FailureReport.publish(held.mq, context, failure));
        }
    }

    /** The emulator of a test. JUnit closes it after the last method of the test. */
    private static final class Held implements CloseableResource {
        final RocketMQ mq;

        Held(ExtensionContext context) {
            String test = context.getRequiredTestClass().getSimpleName() + "." + context.getDisplayName();
            mq = SharedEmulators.open(TestSettings.of(context), test);
        }

        @Override
        public void close() {
            mq.close();
        }
    }
}
