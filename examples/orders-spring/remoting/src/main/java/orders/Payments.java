package orders;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.rocketmq.spring.annotation.RocketMQTransactionListener;
import org.apache.rocketmq.spring.core.RocketMQLocalTransactionListener;
import org.apache.rocketmq.spring.core.RocketMQLocalTransactionState;
import org.apache.rocketmq.spring.support.RocketMQHeaders;
import org.springframework.messaging.Message;

/** Decides about orders that wait for a payment, when the broker sends a transaction check. */
@RocketMQTransactionListener
public class Payments implements RocketMQLocalTransactionListener {
    private final Set<String> paid = ConcurrentHashMap.newKeySet();

    /** Notes a payment. */
    public void pay(String number) {
        paid.add(number);
    }

    @Override
    public RocketMQLocalTransactionState executeLocalTransaction(Message message, Object argument) {
        return RocketMQLocalTransactionState.UNKNOWN;
    }

    @Override
    public RocketMQLocalTransactionState checkLocalTransaction(Message message) {
        Object number = message.getHeaders().get(RocketMQHeaders.PREFIX + RocketMQHeaders.KEYS);
        return paid.contains(String.valueOf(number))
                ? RocketMQLocalTransactionState.COMMIT : RocketMQLocalTransactionState.UNKNOWN;
    }
}
