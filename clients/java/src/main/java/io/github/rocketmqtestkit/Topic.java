package io.github.rocketmqtestkit;

import java.util.List;

/** A topic of an emulator. */
public final class Topic extends StoredMessages {
    private final String name;

    Topic(Control control, String name) {
        super(control, name, "/v1/messages/" + Control.encoded(name));
        this.name = name;
    }

    /** Returns the name. */
    public String name() {
        return name;
    }

    /**
     * Sends a text without a client, and returns the stored message.
     *
     * @throws RocketMQException if the broker refuses it
     */
    public Message send(String text) {
        return send(NewMessage.of(text));
    }

    /**
     * Sends a message without a client, and returns the stored message.
     *
     * @throws RocketMQException if the broker refuses it
     */
    public Message send(NewMessage message) {
        return new Message(control().write("/v1/messages/" + Control.encoded(name), message.form()));
    }

    /**
     * Returns the configuration of the topic.
     *
     * @throws RocketMQException if there is no such topic
     */
    public TopicInfo info() {
        return new TopicInfo(control().read("/v1/topics/" + Control.encoded(name)));
    }

    /** Returns the half messages of the topic whose transactions are not decided. */
    public List<Message> halfMessages() {
        return Message.listOf(control().read(Control.with("/v1/transactions/half", "topic", name)));
    }

    /** Returns the half messages of the topic that brokers discarded after the last check. */
    public List<Message> discardedMessages() {
        return Message.listOf(control().read(Control.with("/v1/transactions/discarded", "topic", name)));
    }

    /** Deletes the topic. */
    public void delete() {
        control().delete("/v1/topics/" + Control.encoded(name));
    }
}
