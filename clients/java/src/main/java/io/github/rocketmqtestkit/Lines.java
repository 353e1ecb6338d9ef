package io.github.rocketmqtestkit;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** Selects lines of the {@link Journal}. Methods narrow the selection and return it. */
public final class Lines {
    private final Map<String, Object> fields = new LinkedHashMap<>();

    private Lines() {}

    /** Selects all lines. */
    public static Lines all() {
        return new Lines();
    }

    /** Selects lines of an operation, such as {@code PopMessage}: the same for both protocols. */
    public static Lines ofOperation(String operation) {
        return new Lines().operation(operation);
    }

    /** Selects lines of an operation. */
    public Lines operation(String operation) {
        return with("operation", operation);
    }

    /** Selects lines about a topic. */
    public Lines topic(String topic) {
        return with("topic", topic);
    }

    /** Selects lines about a consumer group. */
    public Lines group(String group) {
        return with("group", group);
    }

    /** Selects lines about a message, by its id. */
    public Lines message(String id) {
        return with("message", id);
    }

    /** Selects lines of a client, by its id. */
    public Lines client(String clientId) {
        return with("client", clientId);
    }

    /** Selects lines of an event: responded, parked, refused, pushed or faulted. */
    public Lines event(String event) {
        return with("event", event);
    }

    /** Selects lines of a broker, of {@code namesrv} or {@code proxy}. */
    public Lines node(String node) {
        return with("node", node);
    }

    /** Selects lines by the name of a request in its protocol. */
    public Lines label(String label) {
        return with("label", label);
    }

    /** Selects lines of a request, as {@link JournalLine#request} names it. */
    public Lines request(String request) {
        return with("request", request);
    }

    /** Selects lines of a connection. */
    public Lines connection(String connection) {
        return with("connection", connection);
    }

    /** Begins with the line of this index. It has no effect on an export. */
    public Lines since(long index) {
        return with("since", index);
    }

    /** Ends after this number of lines. A page has 1000 otherwise. It has no effect on an export. */
    public Lines limit(int lines) {
        return with("limit", lines);
    }

    String page(String path) {
        return Control.with(path, fields.entrySet().stream()
                .flatMap(each -> Stream.of(each.getKey(), each.getValue())).toArray());
    }

    String export(boolean messages) {
        Lines without = new Lines();
        without.fields.putAll(fields);
        without.fields.keySet().removeAll(List.of("since", "limit"));
        return without.with("messages", messages).page("/v1/journal/export");
    }

    private Lines with(String name, Object value) {
        fields.put(name, value);
        return this;
    }
}
