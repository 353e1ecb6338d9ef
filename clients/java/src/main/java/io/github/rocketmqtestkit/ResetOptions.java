package io.github.rocketmqtestkit;

import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Options of {@link RocketMQ#reset(ResetOptions)}. The clock that they choose lasts until the next reset. Without them it
 * is that of the start, or in a test that of {@link EmulatedTime}. Methods change them and return them.
 */
public final class ResetOptions {
    private final Map<String, Object> fields = new LinkedHashMap<>();

    /**
     * Sets the time after the reset. An emulator that has started from a snapshot refuses it. A fork with messages
     * refuses a time before it was made.
     */
    public ResetOptions startAt(Instant instant) {
        return startAt(instant.toString());
    }

    /** Sets the time after the reset as a text, as the option {@code --start-at} has it. */
    ResetOptions startAt(String instant) {
        return with("start_at", instant);
    }

    /** Lets only the test move the clock, or (false) lets the clock run with real time. */
    public ResetOptions frozen(boolean frozen) {
        return with("time", frozen ? "frozen" : "real");
    }

    /** Leaves clients connected. They find brokers without their messages and offsets. */
    public ResetOptions keepConnections() {
        return with("keep_connections", true);
    }

    /** Returns the body of the request. Options of {@code defaults} count if they are not set here. */
    Map<String, Object> form(ResetOptions defaults) {
        Map<String, Object> form = new LinkedHashMap<>(defaults.fields);
        form.putAll(fields);
        return form;
    }

    private ResetOptions with(String name, Object value) {
        fields.put(name, value);
        return this;
    }
}
