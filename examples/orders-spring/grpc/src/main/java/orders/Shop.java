package orders;

import java.time.Duration;
import org.apache.rocketmq.client.core.RocketMQClientTemplate;
import org.apache.rocketmq.client.support.RocketMQHeaders;
import org.springframework.messaging.Message;
import org.springframework.messaging.support.MessageBuilder;
import org.springframework.stereotype.Component;

/** Sends orders. */
@Component
public class Shop {
    private final RocketMQClientTemplate template;

    public Shop(RocketMQClientTemplate template) {
        this.template = template;
    }

    /** Sends an order. */
    public void order(String number, String text) {
        template.syncSendNormalMessage("orders", message(number, text));
    }

    /** Sends a reminder that the warehouse gets some time later. */
    public void remind(String number, String text, Duration delay) {
        template.syncSendDelayMessage("reminders", message(number, text), delay);
    }

    /** Sends an order that becomes visible once it is paid. */
    public void orderWhenPaid(String number, String text) {
        template.sendTransactionMessage("paid-orders", message(number, text));
    }

    private static Message<String> message(String number, String text) {
        // Brokers refuse KEYS without the prefix, which the starter would also send as a property of the user.
        String keys = RocketMQHeaders.PREFIX + RocketMQHeaders.KEYS;
        return MessageBuilder.withPayload(text).setHeader(keys, number).build();
    }
}
