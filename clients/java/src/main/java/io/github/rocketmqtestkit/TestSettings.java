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
    /** Options of the command, without those of {@link #time}. */
    final List<String> arguments = new ArrayList<>();
    Isolation isolation = Isolation.FORK;
    /** The time of the emulator; null for that of this machine, or of the emulator that runs. */
    EmulatedTime time;

    static TestSettings of(ExtensionContext context) {
        TestSettings settings = new TestSettings();
        List<AnnotatedElement> elements = new ArrayList<>();
        for (Class<?> type = context.getRequiredTestClass(); type != null; type = type.getEnclosingClass()) {
            elements.add(0, type);
        }
        context.getTestMethod().ifPresent(elements::add);
        for (AnnotatedElement element : elements) {
            Optional<RocketMQTest> test = AnnotationSupport.findAnnotation(element, RocketMQTest.class);
            test.ifPresent(settings::add);
            settings.time = AnnotationSupport.findAnnotation(element, EmulatedTime.class).orElse(settings.time);
            settings.faults.addAll(AnnotationSupport.findRepeatableAnnotations(element, Fault.class));
        }
        return settings;
    }

    private void add(RocketMQTest test) {
        topics.addAll(List.of(test.topics()));
        arguments.addAll(List.of(test.arguments()));
        isolation = test.isolation();
    }

    /** Returns true if each test begins at a time of the annotation. */
    boolean hasStart() {
        return time != null && !time.startAt().isEmpty();
    }

    /** Returns the options of a command that starts for the test, with its time. */
    List<String> commandArguments() {
        List<String> words = new ArrayList<>(arguments);
        if (hasStart()) {
            words.addAll(List.of("--start-at", time.startAt()));
        }
        if (time != null && time.frozen()) {
            words.addAll(List.of("--time", "frozen"));
        }
        return words;
    }

    /** Returns the reset that gives the time of the test to an emulator that runs already. */
    ResetOptions reset() {
        ResetOptions options = new ResetOptions();
        if (time != null) {
            options.frozen(time.frozen());
        }
        return hasStart() ? options.startAt(time.startAt()) : options;
    }
}
