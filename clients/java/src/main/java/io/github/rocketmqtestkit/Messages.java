package io.github.rocketmqtestkit;

import java.time.Duration;
import java.time.Instant;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * A selection of messages, and assertions about them.
 *
 * <p>Methods such as {@link #key} return a narrower selection. Assertions throw an AssertionError with the
 * messages, the verdict about each of them, and its history; they return the selection, so that they can be chained.
 */
public class Messages {
    private final Control control;
    private final Map<String, Object> fields;

    Messages(Control control, Map<String, Object> fields) {
        this.control = control;
        this.fields = Map.copyOf(fields);
    }

    /** An order of {@link #assertOrdered}. */
    public enum Order {
        /** The order of the messages of each message group. */
        MESSAGE_GROUP,
        /** The order of the messages of each queue. */
        QUEUE,
        /** The order of the messages with the same key. */
        KEY
    }

    /** Selects messages with a key. */
    public Messages key(String key) {
        return with("key", key);
    }

    /** Selects messages with a tag. */
    public Messages tag(String tag) {
        return with("tag", tag);
    }

    /** Selects the message with this id. */
    public Messages id(String id) {
        return with("id", id);
    }

    /** Selects messages of a message group. */
    public Messages messageGroup(String messageGroup) {
        return with("message_group", messageGroup);
    }

    /** Selects messages with a text as body. */
    public Messages text(String text) {
        return with("text", text);
    }

    /** Selects messages with these bytes as body. */
    public Messages body(byte[] body) {
        return with("body", Base64.getEncoder().encodeToString(body));
    }

    /** Selects messages with a property of this value. Several calls select messages with all these properties. */
    public Messages property(String name, String value) {
        Map<String, Object> properties = new LinkedHashMap<>();
        if (fields.get("properties") instanceof Map) {
            ((Map<?, ?>) fields.get("properties")).forEach((key, each) -> properties.put(key.toString(), each));
        }
        properties.put(name, value);
        return with("properties", properties);
    }

    /** Sets the consumer group of assertions. */
    public Messages group(String group) {
        return with("group", group);
    }

    /** Sets the client of assertions about deliveries, by its id. */
    public Messages client(String clientId) {
        return with("client", clientId);
    }

    /** Lets assertions move the clock, from event to event and at most this far, until they hold. */
    public Messages within(Duration limit) {
        return with("within", Fields.duration(limit));
    }

    /** Holds if brokers have stored such messages. */
    public Messages assertSent() {
        return check("sent", Map.of());
    }

    /** Holds if brokers have stored exactly this number of such messages. */
    public Messages assertSent(int times) {
        return check("sent", Map.of("times", times));
    }

    /** Holds if brokers have stored no such message. */
    public Messages assertNotSent() {
        return check("not_sent", Map.of());
    }

    /** Holds if each message was delivered, to the group and the client if they are set. */
    public Messages assertDelivered() {
        return check("delivered", Map.of());
    }

    /** Holds if each message was delivered exactly this often. */
    public Messages assertDelivered(int times) {
        return check("delivered", Map.of("times", times));
    }

    /** Holds if no such message was delivered. */
    public Messages assertNotDelivered() {
        return check("not_delivered", Map.of());
    }

    /** Holds if the group has acknowledged each message. */
    public Messages assertAcknowledged() {
        return check("acknowledged", Map.of());
    }

    /** Holds if the group received each message again after a failure, exactly this often. */
    public Messages assertRetried(int times) {
        return check("retried", Map.of("times", times));
    }

    /** Holds if each message is in the dead letter queue of the group. */
    public Messages assertInDlq() {
        return check("in_dlq", Map.of());
    }

    /** Holds if the group received the messages in the order of sending. */
    public Messages assertOrdered(Order by) {
        return check("ordered", Map.of("by", by.name().toLowerCase()));
    }

    /** Holds if the group has acknowledged each message, or has it as a dead letter. */
    public Messages assertNoLoss() {
        return check("no_loss", Map.of());
    }

    /** Holds if the group received no message twice. */
    public Messages assertNoDuplicates() {
        return check("no_duplicates", Map.of());
    }

    /** Holds if the broker has sent exactly this number of transaction checks about each message. */
    public Messages assertChecked(int times) {
        return check("checked", Map.of("times", times));
    }

    /** Holds if the transaction of each message was committed. */
    public Messages assertCommitted() {
        return check("committed", Map.of());
    }

    /** Holds if the transaction of each message was rolled back. */
    public Messages assertRolledBack() {
        return check("rolled_back", Map.of());
    }

    /** Holds if brokers deliver each message at an instant, or up to a tolerance before or after it. */
    public Messages assertDelayedUntil(Instant instant, Duration tolerance) {
        return check("delayed_until", Map.of("instant", instant.toEpochMilli(), "tolerance", Fields.duration(tolerance)));
    }

    Messages check(String assertion, Map<String, ?> others) {
        Map<String, Object> body = new LinkedHashMap<>(fields);
        body.putAll(others);
        control.post("/v1/assertions/" + assertion, body);
        return this;
    }

    Control control() {
        return control;
    }

    private Messages with(String name, Object value) {
        Map<String, Object> narrower = new LinkedHashMap<>(fields);
        narrower.put(name, value);
        return new Messages(control, narrower);
    }
}
