package io.github.rocketmqtestkit;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Repeatable;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * A rule of faults, or a preset, that acts from the beginning of a test of {@link RocketMQTest}.
 *
 * <p>A test has the rules of its class and of its method. {@link Faults#add} takes rules with other criteria and
 * parameters.
 */
@Documented
@Inherited
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.TYPE, ElementType.METHOD})
@Repeatable(Fault.List.class)
public @interface Fault {
    /** The kind of fault, such as {@code drop_response}; or its JSON, such as {@code {"delay_response": {"duration": "2s"}}}. */
    String then() default "";

    /** A preset instead of {@link #then}, such as {@code flaky-network}. */
    String preset() default "";

    /** The operation, such as {@code SendMessage}. By default every operation. */
    String operation() default "";

    /** The topic. By default every topic. */
    String topic() default "";

    /** The consumer group. By default every group. */
    String group() default "";

    /** The maximum number of firings. By default there is no limit. */
    int times() default 0;

    /** Repeated rules. */
    @Documented
    @Inherited
    @Retention(RetentionPolicy.RUNTIME)
    @Target({ElementType.TYPE, ElementType.METHOD})
    @interface List {
        /** The rules. */
        Fault[] value();
    }
}
