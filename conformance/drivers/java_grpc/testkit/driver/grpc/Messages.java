package testkit.driver.grpc;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.rocketmq.client.apis.ClientServiceProvider;
import org.apache.rocketmq.client.apis.message.Message;
import org.apache.rocketmq.client.apis.message.MessageBuilder;
import org.apache.rocketmq.client.apis.message.MessageView;
import org.apache.rocketmq.client.java.message.MessageViewImpl;
import testkit.driver.Command;
import testkit.driver.Refusal;

/** Messages between the protocol's objects and the SDK's. */
final class Messages {
    private Messages() {
    }

    /** The message that the fields of a `send` describe. */
    static Message make(ClientServiceProvider provider, Command command) throws Exception {
        return make(provider, command, command.bytes("body"), command.texts("keys").toArray(new String[0]));
    }

    static Message make(ClientServiceProvider provider, Command command, byte[] body, String... keys)
        throws Exception {
        for (String field : new String[] {"delay_level", "queue"}) {
            if (command.has(field)) {
                throw new Refusal("Unsupported", "this SDK has no " + field);
            }
        }
        MessageBuilder builder = provider.newMessageBuilder().setTopic(command.text("topic")).setBody(body);
        if (command.has("tag")) {
            builder.setTag(command.text("tag"));
        }
        if (keys.length > 0) {
            builder.setKeys(keys);
        }
        if (command.has("group")) {
            builder.setMessageGroup(command.text("group"));
        }
        if (command.has("deliver_at")) {
            builder.setDeliveryTimestamp(command.number("deliver_at"));
        }
        for (Map.Entry<String, String> pair : command.pairs("props").entrySet()) {
            builder.addProperty(pair.getKey(), pair.getValue());
        }
        return builder.build();
    }

    static byte[] body(MessageView message) {
        ByteBuffer buffer = message.getBody().duplicate();
        byte[] body = new byte[buffer.remaining()];
        buffer.get(body);
        return body;
    }

    /** The message as the protocol shows it; `handle` may be null. */
    static Map<String, Object> show(MessageView message, Long handle) {
        MessageViewImpl view = message instanceof MessageViewImpl ? (MessageViewImpl) message : null;
        Map<String, Object> shown = new LinkedHashMap<>();
        shown.put("h", handle);
        shown.put("id", message.getMessageId().toString());
        shown.put("topic", message.getTopic());
        shown.put("body", Base64.getEncoder().encodeToString(body(message)));
        shown.put("tag", message.getTag().orElse(null));
        shown.put("keys", new ArrayList<>(message.getKeys()));
        shown.put("props", message.getProperties());
        shown.put("group", message.getMessageGroup().orElse(null));
        shown.put("attempt", message.getDeliveryAttempt());
        // The SDK knows the queue that it asked only, and the answer may come from another one.
        shown.put("queue", null);
        shown.put("offset", view == null ? null : view.getOffset());
        shown.put("born", message.getBornTimestamp());
        shown.put("deliver_at", message.getDeliveryTimestamp().orElse(null));
        shown.put("stored", null);
        shown.put("offset_id", null);
        shown.put("broker",
            view == null || view.getMessageQueue() == null ? null : view.getMessageQueue().getBroker().getName());
        shown.put("born_host", message.getBornHost());
        shown.put("store_host", null);
        return shown;
    }
}
