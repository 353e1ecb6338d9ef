package orders;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.apache.rocketmq.spring.annotation.RocketMQMessageListener;
import org.apache.rocketmq.spring.core.RocketMQListener;
import org.springframework.stereotype.Component;

/** Ships orders. */
@Component
@RocketMQMessageListener(topic = "orders", consumerGroup = "warehouse")
public class Warehouse implements RocketMQListener<String> {
    private final Carrier carrier;
    private final List<String> shipped = new CopyOnWriteArrayList<>();

    public Warehouse(Carrier carrier) {
        this.carrier = carrier;
    }

    @Override
    public void onMessage(String order) {
        if (!carrier.takes(order)) {
            throw new IllegalStateException("the carrier refuses " + order);
        }
        shipped.add(order);
    }

    /** Returns the orders that were shipped. */
    public List<String> shipped() {
        return shipped;
    }
}
