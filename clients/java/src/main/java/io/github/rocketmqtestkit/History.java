package io.github.rocketmqtestkit;

import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Every step of a message in order. */
public final class History {
    private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("HH:mm:ss.SSS").withZone(ZoneOffset.UTC);

    private final Fields fields;

    History(Fields fields) {
        this.fields = fields;
    }

    /** Returns the id of the message. */
    public String messageId() {
        return fields.text("message_id");
    }

    /** Returns the topic of the message. */
    public String topic() {
        return fields.text("topic");
    }

    /** Returns the steps, none if no broker received the message. */
    public List<Step> steps() {
        return fields.objects("steps").stream().map(Step::new).collect(Collectors.toList());
    }

    /** Returns a line for each step. */
    @Override
    public String toString() {
        return Stream.concat(Stream.of("message " + messageId() + " of " + topic()),
                steps().stream().map(step -> "  " + step)).collect(Collectors.joining("\n"));
    }

    /** One step of a message. Texts are empty if a step has none. */
    public static final class Step {
        private final Fields fields;

        Step(Fields fields) {
            this.fields = fields;
        }

        /** Returns the emulator's time of the step. */
        public Instant at() {
            return fields.instant("at_ms");
        }

        /** Returns the kind, such as sent, delivered or acknowledged. */
        public String kind() {
            return fields.text("kind");
        }

        /** Returns the consumer group. */
        public String group() {
            return fields.text("group");
        }

        /** Returns the id of the client. */
        public String client() {
            return fields.text("client");
        }

        /** Returns the broker or proxy. */
        public String node() {
            return fields.text("node");
        }

        /** Returns further facts, such as the fault that acted. */
        public String detail() {
            return fields.text("detail");
        }

        /** Returns the time, the kind and what else is known, in one line. */
        @Override
        public String toString() {
            return Stream.of(TIME.format(at()), kind(), group(), client(), node(), detail())
                    .filter(text -> !text.isEmpty()).collect(Collectors.joining("  "));
        }
    }
}
