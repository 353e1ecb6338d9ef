package io.github.rocketmqtestkit;

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

    /** Deletes the topic. */
    public void delete() {
        control().delete("/v1/topics/" + Control.encoded(name));
    }
}
