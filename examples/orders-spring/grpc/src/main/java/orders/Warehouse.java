package orders;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.apache.rocketmq.client.annotation.RocketMQMessageListener;
import org.apache.rocketmq.client.apis.consumer.ConsumeResult;
import org.apache.rocketmq.client.apis.message.MessageView;
import org.apache.rocketmq.client.core.RocketMQListener;
import org.springframework.stereotype.Component;

/** Ships orders. */
@Component
@RocketMQMessageListener(topic = "orders", consumerGroup = "warehouse", tag = "*")
public class Warehouse implements RocketMQListener {
    private final Carrier carrier;
    private final List<String> shipped = new CopyOnWriteArrayList<>();

    public Warehouse(Carrier carrier) {
        this.carrier = carrier;
    }

    @Override
    public ConsumeResult consume(MessageView message) {
        String order = UTF_8.decode(message.getBody()).toString();
        if (!carrier.takes(order)) {
            return ConsumeResult.FAILURE;
        }
        shipped.add(order);
        return ConsumeResult.SUCCESS;
    }

    /** Returns the orders that were shipped. */
    public List<String> shipped() {
        return shipped;
    }
}
