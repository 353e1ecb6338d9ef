package io.github.rocketmqtestkit;

import java.util.LinkedHashMap;
import java.util.Map;

/** A topic to create, or to change. Only the name is required; methods change it and return it. */
public final class NewTopic {
    private final Map<String, Object> fields = new LinkedHashMap<>();

    private NewTopic(String name) {
        fields.put("name", name);
    }

    /** Returns a topic with a name. A new topic gets the type NORMAL and eight queues on each broker. */
    public static NewTopic of(String name) {
        return new NewTopic(name);
    }

    /** Returns a topic that is written as NAME, NAME:TYPE or NAME:TYPE:QUEUES. */
    static NewTopic parsed(String text) {
        String[] parts = text.split(":", -1);
        NewTopic topic = of(parts[0]);
        if (parts.length > 1) {
            topic.type(parts[1]);
        }
        if (parts.length > 2) {
            if (parts.length > 3 || !parts[2].matches("\\d{1,6}")) {
                throw new RocketMQException("topic=" + text
                        + ": is not NAME, NAME:TYPE or NAME:TYPE:QUEUES; use orders:FIFO:4");
            }
            topic.queues(Integer.parseInt(parts[2]));
        }
        return topic;
    }

    /** Sets the type: NORMAL, FIFO, DELAY, TRANSACTION or MIXED. */
    public NewTopic type(String type) {
        return with("type", type);
    }

    /** Sets the number of queues on each broker. */
    public NewTopic queues(int queues) {
        return with("queues", queues);
    }

    /** Creates or changes the topic on this master only. */
    public NewTopic broker(String broker) {
        return with("broker", broker);
    }

    /** Creates or changes the topic on the masters of this cluster only. */
    public NewTopic cluster(String cluster) {
        return with("cluster", cluster);
    }

    Map<String, Object> form() {
        return fields;
    }

    private NewTopic with(String name, Object value) {
        fields.put(name, value);
        return this;
    }
}
