package io.github.rocketmqtestkit;

import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** A message as the broker has stored it. */
public final class Message {
    private final Fields fields;

    Message(Fields fields) {
        this.fields = fields;
    }

    static List<Message> listOf(Fields response) {
        return response.objects("messages").stream().map(Message::new).collect(Collectors.toList());
    }

    /** Returns the topic. */
    public String topic() {
        return fields.text("topic");
    }

    /** Returns the body. */
    public byte[] body() {
        return fields.bytes("body");
    }

    /** Returns the body as text. */
    public String text() {
        return new String(body(), StandardCharsets.UTF_8);
    }

    /** Returns the tag; an empty text if there is none. */
    public String tag() {
        return fields.text("tag");
    }

    /** Returns the keys. */
    public List<String> keys() {
        return fields.texts("keys");
    }

    /** Returns the properties of the user. */
    public Map<String, String> properties() {
        return fields.map("properties");
    }

    /** Returns the id that clients use. */
    public String id() {
        return fields.text("message_id");
    }

    /** Returns the message group of a FIFO message; an empty text if there is none. */
    public String messageGroup() {
        return fields.text("message_group");
    }

    /** Returns the name of the broker that stores the message. */
    public String broker() {
        return fields.text("broker");
    }

    /** Returns the number of the queue. */
    public int queueId() {
        return (int) fields.number("queue_id");
    }

    /** Returns the offset in the queue. */
    public long queueOffset() {
        return fields.number("queue_offset");
    }

    /** Returns the time of the producer when it sent the message. */
    public Instant bornAt() {
        return fields.instant("born_at_ms");
    }

    /** Returns the time of the emulator when the broker stored the message. */
    public Instant storedAt() {
        return fields.instant("stored_at_ms");
    }

    /** Returns the number of redeliveries so far. */
    public int reconsumeTimes() {
        return (int) fields.number("reconsume_times");
    }

    /** Returns the id that the broker forms of its address and {@link #physicalOffset}. */
    public String offsetId() {
        return fields.text("offset_message_id");
    }

    /** Returns the position in the commit log of the broker. */
    public long physicalOffset() {
        return fields.number("physical_offset");
    }

    /** Returns the address of the sender: {@code host:port}. */
    public String bornHost() {
        return String.join(":", fields.texts("born_host"));
    }

    /** Returns true if the body is compressed in a way that the emulator does not know. */
    public boolean isCompressed() {
        return fields.isTrue("compressed");
    }

    /** Returns the topic, id and body. */
    @Override
    public String toString() {
        return topic() + " " + id() + " '" + text() + "'";
    }
}
