package orders;

import java.time.Duration;
import org.apache.rocketmq.spring.core.RocketMQTemplate;
import org.apache.rocketmq.spring.support.RocketMQHeaders;
import org.springframework.messaging.Message;
import org.springframework.messaging.support.MessageBuilder;
import org.springframework.stereotype.Component;

/** Sends orders. */
@Component
public class Shop {
    private final RocketMQTemplate template;

    public Shop(RocketMQTemplate template) {
        this.template = template;
    }

    /** Sends an order. */
    public void order(String number, String text) {
        template.syncSend("orders", message(number, text));
    }

    /** Sends a reminder, which is an order that the warehouse gets some time later. */
    public void remind(String number, String text, Duration delay) {
        template.syncSendDelayTimeSeconds("orders", message(number, text), delay.toSeconds());
    }

    /** Sends an order that becomes visible once it is paid. */
    public void orderWhenPaid(String number, String text) {
        template.sendMessageInTransaction("paid-orders", message(number, text), null);
    }

    private static Message<String> message(String number, String text) {
        return MessageBuilder.withPayload(text).setHeader(RocketMQHeaders.KEYS, number).build();
    }
}
