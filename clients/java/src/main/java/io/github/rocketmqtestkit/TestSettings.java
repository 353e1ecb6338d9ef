package io.github.rocketmqtestkit;

import java.lang.reflect.AnnotatedElement;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.platform.commons.support.AnnotationSupport;

/** The annotations of a test, of its class and of the classes around it. */
final class TestSettings {
    final List<String> topics = new ArrayList<>();
    final List<Fault> faults = new ArrayList<>();
    /** Options of the command. */
    final List<String> arguments = new ArrayList<>();
    Isolation isolation = Isolation.FORK;
    /** True if each test begins at a time of the annotation. */
    boolean hasStart;

    static TestSettings of(ExtensionContext context) {
        TestSettings settings = new TestSettings();
        List<AnnotatedElement> elements = new ArrayList<>();
        for (Class<?> type = context.getRequiredTestClass(); type != null; type = type.getEnclosingClass()) {
            elements.add(0, type);
        }
        context.getTestMethod().ifPresent(elements::add);
        EmulatedTime time = null;
        for (AnnotatedElement element : elements) {
            Optional<RocketMQTest> test = AnnotationSupport.findAnnotation(element, RocketMQTest.class);
            test.ifPresent(settings::add);
            time = AnnotationSupport.findAnnotation(element, EmulatedTime.class).orElse(time);
            settings.faults.addAll(AnnotationSupport.findRepeatableAnnotations(element, Fault.class));
        }
        if (time != null) {
            settings.add(time);
        }
        return settings;
    }

    private void add(RocketMQTest test) {
        topics.addAll(List.of(test.topics()));
        arguments.addAll(List.of(test.arguments()));
        isolation = test.isolation();
    }

    private void add(EmulatedTime time) {
        if (!time.startAt().isEmpty()) {
            arguments.addAll(List.of("--start-at", time.startAt()));
            hasStart = true;
        }
        if (time.frozen()) {
            arguments.addAll(List.of("--time", "frozen"));
        }
    }
}
