package io.github.rocketmqtestkit;

import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** The messages of a topic or of a dead letter queue. They are read, not consumed. */
public class StoredMessages extends Messages {
    private final String path;

    StoredMessages(Control control, String topic, String path) {
        super(control, Map.of("topic", topic));
        this.path = path;
    }

    /**
     * Returns the messages in the order in which the broker has stored them. A group that does not exist has no dead
     * letters.
     *
     * @throws RocketMQException if there is no such topic
     */
    public List<Message> list() {
        return Message.listOf(control().read(path));
    }

    /** Returns the bodies of the messages as texts. */
    public List<String> texts() {
        return list().stream().map(Message::text).collect(Collectors.toList());
    }

    /** Returns the number of messages. */
    public int size() {
        return list().size();
    }

    /** Returns true if there is no message. */
    public boolean isEmpty() {
        return list().isEmpty();
    }

    /** Holds if the messages have exactly these texts as bodies, in any order. */
    public StoredMessages assertBodies(String... texts) {
        check("bodies", Map.of("texts", List.of(texts), "in_any_order", true));
        return this;
    }

    /** Holds if the messages have exactly these bodies, in any order. */
    public StoredMessages assertBodies(List<byte[]> bodies) {
        List<String> encoded = bodies.stream().map(Base64.getEncoder()::encodeToString).collect(Collectors.toList());
        check("bodies", Map.of("bodies", encoded, "in_any_order", true));
        return this;
    }

    /** Holds if the messages have exactly these texts as bodies, in the order of storing. */
    public StoredMessages assertBodiesInOrder(String... texts) {
        check("bodies", Map.of("texts", List.of(texts)));
        return this;
    }
}
