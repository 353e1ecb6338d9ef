package io.github.rocketmqtestkit;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Gives each test that has a parameter of type {@link RocketMQ} an emulator of its own, which ends with the test.
 *
 * <p>Methods with {@code @BeforeEach} and {@code @AfterEach} may have the parameter, too. All tests of a JVM share one
 * process of {@code rocketmq-emulator}. If a test fails, the report has the histories of the first ten messages that a
 * group has not acknowledged.
 *
 * <p>On a method, topics and arguments are added to those of the class.
 */
@Documented
@Inherited
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.TYPE, ElementType.METHOD})
@ExtendWith(RocketMQExtension.class)
public @interface RocketMQTest {
    /** Topics: NAME, NAME:TYPE or NAME:TYPE:QUEUES. TYPE is NORMAL, FIFO, DELAY, TRANSACTION or MIXED. */
    String[] topics() default {};

    /** A fork for each test, or a reset before each test. The value of a method replaces that of its class. */
    Isolation isolation() default Isolation.FORK;

    /** Options of the command, such as {@code {"--brokers", "2"}}. Tests with other options have another process. */
    String[] arguments() default {};
}
