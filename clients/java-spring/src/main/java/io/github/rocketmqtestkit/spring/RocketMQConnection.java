package io.github.rocketmqtestkit.spring;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Connects the application context of a Spring test to an emulator, which is a bean of type
 * {@link io.github.rocketmqtestkit.RocketMQ}.
 *
 * <p>Tests and methods with {@code @BeforeEach} and {@code @AfterEach} may have it as a parameter. The emulator ends with
 * the context: tests share it as long as Spring keeps their context.
 */
@Documented
@Inherited
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.TYPE)
@ExtendWith(ConnectionExtension.class)
public @interface RocketMQConnection {
    /** Topics: NAME, NAME:TYPE or NAME:TYPE:QUEUES. TYPE is NORMAL, FIFO, DELAY, TRANSACTION or MIXED. */
    String[] topics() default {};
}
