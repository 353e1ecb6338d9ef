package io.github.rocketmqtestkit;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * The time of the emulator in tests of {@link RocketMQTest}, also of one that runs already. The annotation of a method
 * replaces that of its class.
 */
@Documented
@Inherited
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.TYPE, ElementType.METHOD})
public @interface EmulatedTime {
    /** The time at which each test begins, such as 2026-01-31T12:00:00Z. By default the time of this machine. */
    String startAt() default "";

    /** True if only the test moves the clock. By default the clock also runs with real time. */
    boolean frozen() default false;
}
