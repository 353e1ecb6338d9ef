package io.github.rocketmqtestkit;

import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Texts of explanations and histories for people. */
final class Sentences {
    private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("HH:mm:ss.SSS").withZone(ZoneOffset.UTC);

    private Sentences() {}

    static String of(Explanation explanation) {
        return explanation.sentence();
    }

    static String of(IdleExplanation explanation) {
        return explanation.sentence();
    }

    /** Returns a line for each step. */
    static String of(History history) {
        return Stream.concat(Stream.of("message " + history.messageId() + " of " + history.topic()),
                history.steps().stream().map(step -> "  " + step)).collect(Collectors.joining("\n"));
    }

    /** Returns the time and the kind, and the group, client, node and detail if there are any, in one line. */
    static String of(Step step) {
        return Stream.of(TIME.format(step.at()), step.kind(), step.group(), step.client(), step.node(), step.detail())
                .filter(text -> !text.isEmpty()).collect(Collectors.joining("  "));
    }
}
