package io.github.rocketmqtestkit;

import java.util.Map;

/** A condition of {@link Clock#advanceUntil(Until)}. */
public final class Until {
    private final Map<String, Object> fields;

    private Until(Map<String, Object> fields) {
        this.fields = fields;
    }

    /** A topic holds at least this many messages. */
    public static Until messages(String topic, int count) {
        return new Until(Map.of("topic", topic, "messages", count));
    }

    /** The dead letter queue of a group holds at least this many messages. */
    public static Until deadLetters(String group, int count) {
        return new Until(Map.of("group", group, "dead_letters", count));
    }

    /** A group has at most this many messages to finish. */
    public static Until lag(String group, int lag) {
        return new Until(Map.of("group", group, "lag", lag));
    }

    /**
     * At least this many messages of a group's topics are not in its lag: those that it has acknowledged, and those that
     * wait for their retry delay.
     */
    public static Until acknowledged(String group, int count) {
        return new Until(Map.of("group", group, "acknowledged", count));
    }

    /** At least this many consumers of a group are connected. */
    public static Until members(String group, int count) {
        return new Until(Map.of("group", group, "members", count));
    }

    Map<String, Object> fields() {
        return fields;
    }
}
