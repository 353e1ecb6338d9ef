package io.github.rocketmqtestkit;

import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;

/**
 * The clock of an emulator. It runs with real time, and a test moves it forward.
 *
 * <p>A jump waits for connected clients: messages that become due are delivered, and clients finish their responses
 * before the clock moves on.
 */
public final class Clock {
    private static final Duration DAY = Duration.ofDays(1);

    private final Control control;
    private final Duration wait;

    Clock(Control control) {
        this(control, Duration.ofSeconds(10));
    }

    private Clock(Control control, Duration wait) {
        this.control = control;
        this.wait = wait;
    }

    /** Returns this clock with another longest wait for one response of a client, in real time. The default is 10 s. */
    public Clock waitingAtMost(Duration wait) {
        return new Clock(control, wait);
    }

    /** Returns the emulator's time. */
    public Instant now() {
        return control.read("/v1/clock").instant("now_ms");
    }

    /** Returns true if the clock moves only by jumps. */
    public boolean isFrozen() {
        return control.read("/v1/clock").isTrue("frozen");
    }

    /** Returns the scheduled events, such as redeliveries, the earliest first, at most this many. */
    public List<ScheduledEvent> scheduled(int limit) {
        return control.read("/v1/clock/scheduled?limit=" + limit).list("scheduled", ScheduledEvent::new);
    }

    /** Moves the clock forward. */
    public void advance(Duration by) {
        control.post("/v1/clock/advance", Map.of("by", Fields.duration(by), "wait", Fields.duration(wait)));
    }

    /** Moves the clock to the next scheduled event, such as a redelivery. */
    public void advanceToNext() {
        control.post("/v1/clock/advance_to_next", Map.of("wait", Fields.duration(wait)));
    }

    /** Moves the clock from event to event until a condition is true, at most by a day. */
    public void advanceUntil(BooleanSupplier condition) {
        advanceUntil(condition, DAY);
    }

    /**
     * Moves the clock from event to event until a condition is true, at most by {@code limit}.
     *
     * @throws RocketMQException if the condition cannot become true within the limit; the error names the clients that
     *     the clock waited for
     */
    public void advanceUntil(BooleanSupplier condition, Duration limit) {
        Map<String, String> body = Map.of("limit", Fields.duration(limit), "wait", Fields.duration(wait));
        String search = control.write("/v1/clock/searches", body).text("id");
        while (!condition.getAsBoolean()) {
            control.post("/v1/clock/searches/" + search + "/step", null);
        }
    }

    /** Moves the clock from event to event until a condition is true, at most by a day, with one request. */
    public void advanceUntil(Until condition) {
        advanceUntil(condition, DAY);
    }

    /**
     * Moves the clock from event to event until a condition is true, at most by {@code limit}, with one request.
     *
     * @throws RocketMQException if the condition cannot become true within the limit
     */
    public void advanceUntil(Until condition, Duration limit) {
        Map<String, Object> body = new LinkedHashMap<>(condition.fields());
        body.put("limit", Fields.duration(limit));
        body.put("wait", Fields.duration(wait));
        control.post("/v1/clock/advance_until", body);
    }
}
