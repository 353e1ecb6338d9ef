package io.github.rocketmqtestkit;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** A consumer group of an emulator. Assertions return the group, so that they can be chained. */
public final class Group {
    private final Control control;
    private final String name;
    private final Duration limit;

    Group(Control control, String name, Duration limit) {
        this.control = control;
        this.name = name;
        this.limit = limit;
    }

    /** Returns the name. */
    public String name() {
        return name;
    }

    /** Returns the messages in the dead letter queue of the group. */
    public StoredMessages dlq() {
        return new DeadLetters(control, name);
    }

    /**
     * Returns the messages in the retry topics of the group, one for each redelivery.
     *
     * @throws RocketMQException if there is no such group
     */
    public List<Message> retryMessages() {
        return Message.listOf(control.read("/v1/groups/" + Control.encoded(name) + "/retry-messages"));
    }

    /** Explains why the group is idle, or says that it is not idle. */
    public IdleExplanation explain() {
        return new IdleExplanation(control.read("/v1/groups/" + Control.encoded(name) + "/explain"));
    }

    /** Creates the group with this number of redeliveries before a message becomes a dead letter, or changes it. */
    public Group create(int retryMaxTimes) {
        control.post("/v1/groups", Map.of("name", name, "retry_max_times", retryMaxTimes));
        return this;
    }

    /** Creates the group for orderly consumption, or changes it. */
    public Group createOrderly(int retryMaxTimes) {
        control.post("/v1/groups", Map.of("name", name, "orderly", true, "retry_max_times", retryMaxTimes));
        return this;
    }

    /** Stops or allows consumption. Creates the group if it does not exist, and keeps its other settings otherwise. */
    public Group enableConsumption(boolean enabled) {
        control.post("/v1/groups", Map.of("name", name, "consume_enable", enabled));
        return this;
    }

    /**
     * Returns the group with its members, its offsets and its lag on each queue.
     *
     * @throws RocketMQException if there is no such group
     */
    public GroupState state() {
        return new GroupState(control.read("/v1/groups/" + Control.encoded(name)));
    }

    /** Deletes the group, and keeps its offsets for a later group of that name. */
    public void deleteKeepingOffsets() {
        control.delete("/v1/groups/" + Control.encoded(name) + "?keep_offsets=true");
    }

    /** Deletes the group with its offsets, its retry topic and its dead letter queue. */
    public void delete() {
        control.delete("/v1/groups/" + Control.encoded(name));
    }

    /** Resets the offsets of the group in a topic to {@code earliest}, {@code latest}, or an instant in ISO 8601. */
    public void resetOffset(String topic, String to) {
        control.post("/v1/groups/" + Control.encoded(name) + "/reset-offset", Map.of("topic", topic, "to", to));
    }

    /** Resets the offsets of the group in a topic to one offset, which must be in the range of each queue. */
    public void resetOffset(String topic, long offset) {
        control.post("/v1/groups/" + Control.encoded(name) + "/reset-offset", Map.of("topic", topic, "to", offset));
    }

    /** Waits until a consumer of the group has registered. The timeout is real time. */
    public void waitForConsumer(Duration timeout) {
        waitFor(false, timeout);
    }

    /** Waits until a consumer of the group has registered and has its queues. The timeout is real time. */
    public void waitForAssignment(Duration timeout) {
        waitFor(true, timeout);
    }

    private void waitFor(boolean assigned, Duration timeout) {
        control.post("/v1/wait/consumer",
                Map.of("group", name, "assigned", assigned, "timeout", Fields.duration(timeout)));
    }

    /** Lets assertions move the clock, from event to event and at most this far, until they hold. */
    public Group within(Duration limit) {
        return new Group(control, name, limit);
    }

    /** Holds if no message of the group is available, in flight, delayed or half. */
    public Group assertIdle() {
        return check("idle", Map.of(), limit);
    }

    /** Holds if the group has exactly this number of unfinished messages. */
    public Group assertLag(int lag) {
        return check("lag", Map.of("lag", lag), limit);
    }

    /** Holds if exactly this number of consumers is connected. */
    public Group assertConsumers(int count) {
        return check("consumers", Map.of("count", count), limit);
    }

    /** Holds if all members have the same subscriptions. {@link #within} has no effect on it. */
    public Group assertSubscriptionsAgree() {
        return check("subscriptions_agree", Map.of(), null);
    }

    private Group check(String assertion, Map<String, ?> others, Duration within) {
        Map<String, Object> body = new LinkedHashMap<>(others);
        body.put("group", name);
        if (within != null) {
            body.put("within", Fields.duration(within));
        }
        control.post("/v1/assertions/" + assertion, body);
        return this;
    }
}
