package testkit.driver.remoting;

import java.net.SocketAddress;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageAccessor;
import org.apache.rocketmq.common.message.MessageClientExt;
import org.apache.rocketmq.common.message.MessageExt;
import testkit.driver.Command;

/** Messages between the protocol's objects and the SDK's. */
final class Messages {
    /** 4.9.8 has no names for these two properties; the broker is the same. */
    static final String SHARDING_KEY = "__SHARDINGKEY";
    static final String DELIVER_AT = "TIMER_DELIVER_MS";

    private Messages() {
    }

    /** The message that the fields of a `send` describe. */
    static Message make(Command command) throws Exception {
        Message message = make(command, command.bytes("body"));
        if (!command.texts("keys").isEmpty()) {
            message.setKeys(command.texts("keys"));
        }
        return message;
    }

    static Message make(Command command, byte[] body) throws Exception {
        Message message = new Message(command.text("topic"), body);
        if (command.has("tag")) {
            message.setTags(command.text("tag"));
        }
        if (command.has("group")) {
            MessageAccessor.putProperty(message, SHARDING_KEY, command.text("group"));
        }
        if (command.has("deliver_at")) {
            MessageAccessor.putProperty(message, DELIVER_AT, String.valueOf(command.number("deliver_at")));
        }
        if (command.has("delay_level")) {
            message.setDelayTimeLevel((int) command.number("delay_level"));
        }
        for (Map.Entry<String, String> pair : command.pairs("props").entrySet()) {
            message.putUserProperty(pair.getKey(), pair.getValue());
        }
        return message;
    }

    /** The message as the protocol shows it. */
    static Map<String, Object> show(Message message) {
        MessageExt stored = message instanceof MessageExt ? (MessageExt) message : null;
        String deliverAt = message.getProperty(DELIVER_AT);
        String keys = message.getKeys();
        Map<String, Object> shown = new LinkedHashMap<>();
        shown.put("h", null);
        shown.put("id", stored == null ? null : stored.getMsgId());
        shown.put("topic", message.getTopic());
        shown.put("body", Base64.getEncoder().encodeToString(message.getBody()));
        shown.put("tag", message.getTags());
        shown.put("keys", keys == null || keys.isEmpty() ? List.of() : List.of(keys.split(" ")));
        shown.put("props", message.getProperties());
        shown.put("group", message.getProperty(SHARDING_KEY));
        shown.put("attempt", stored == null ? null : stored.getReconsumeTimes() + 1);
        shown.put("queue", stored == null ? null : stored.getQueueId());
        shown.put("offset", stored == null ? null : stored.getQueueOffset());
        shown.put("born", stored == null ? null : stored.getBornTimestamp());
        shown.put("deliver_at", deliverAt == null ? null : Long.valueOf(deliverAt));
        shown.put("stored", stored == null ? null : stored.getStoreTimestamp());
        shown.put("offset_id", stored instanceof MessageClientExt ? ((MessageClientExt) stored).getOffsetMsgId() : null);
        shown.put("broker", stored == null ? null : stored.getBrokerName());
        shown.put("born_host", stored == null ? null : host(stored.getBornHost()));
        shown.put("store_host", stored == null ? null : host(stored.getStoreHost()));
        return shown;
    }

    private static String host(SocketAddress address) {
        // The form of an address with a leading slash says that no name was looked up.
        return address == null ? null : address.toString().replaceFirst("^.*/", "");
    }
}
