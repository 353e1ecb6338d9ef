package io.github.rocketmqtestkit;

import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** A message to send without a client. Only the body is required; methods change it and return it. */
public final class NewMessage {
    private final Map<String, Object> fields = new LinkedHashMap<>();
    private final Map<String, String> properties = new LinkedHashMap<>();

    private NewMessage() {}

    /** Returns a message with a text as body. */
    public static NewMessage of(String text) {
        NewMessage message = new NewMessage();
        message.fields.put("text", text);
        return message;
    }

    /** Returns a message with this body. */
    public static NewMessage of(byte[] body) {
        NewMessage message = new NewMessage();
        message.fields.put("body", Base64.getEncoder().encodeToString(body));
        return message;
    }

    /** Sets the tag. */
    public NewMessage tag(String tag) {
        fields.put("tag", tag);
        return this;
    }

    /** Sets the keys. */
    public NewMessage keys(String... keys) {
        fields.put("keys", List.of(keys));
        return this;
    }

    /** Adds a property, also one of the broker, such as DELAY with a delay level. */
    public NewMessage property(String name, String value) {
        properties.put(name, value);
        return this;
    }

    /** Sets the message group, which FIFO topics require. */
    public NewMessage messageGroup(String messageGroup) {
        fields.put("message_group", messageGroup);
        return this;
    }

    Map<String, Object> form() {
        Map<String, Object> form = new LinkedHashMap<>(fields);
        form.put("properties", properties);
        return form;
    }
}
