package orders;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.rocketmq.client.annotation.RocketMQTransactionListener;
import org.apache.rocketmq.client.apis.message.MessageView;
import org.apache.rocketmq.client.apis.producer.TransactionResolution;
import org.apache.rocketmq.client.core.RocketMQTransactionChecker;

/** Decides about orders that wait for a payment, when the broker sends a transaction check. */
@RocketMQTransactionListener
public class Payments implements RocketMQTransactionChecker {
    private final Set<String> paid = ConcurrentHashMap.newKeySet();

    /** Notes a payment. */
    public void pay(String number) {
        paid.add(number);
    }

    @Override
    public TransactionResolution check(MessageView order) {
        return paid.contains(order.getKeys().iterator().next())
                ? TransactionResolution.COMMIT : TransactionResolution.UNKNOWN;
    }
}
