package orders;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Predicate;
import org.apache.rocketmq.client.apis.ClientConfiguration;
import org.apache.rocketmq.client.apis.ClientException;
import org.apache.rocketmq.client.apis.ClientServiceProvider;
import org.apache.rocketmq.client.apis.consumer.ConsumeResult;
import org.apache.rocketmq.client.apis.consumer.FilterExpression;
import org.apache.rocketmq.client.apis.consumer.PushConsumer;
import org.apache.rocketmq.client.apis.message.MessageView;

/** Ships orders, in the consumer group {@code warehouse}. */
public final class Warehouse implements AutoCloseable {
    private final Predicate<String> ship;
    private final List<String> shipped = new CopyOnWriteArrayList<>();
    private final PushConsumer consumer;

    /**
     * Connects a warehouse to an endpoint. It calls {@code ship} for each message of a topic, and again later if
     * {@code ship} returns false.
     */
    public Warehouse(String endpoint, String topic, Predicate<String> ship) throws ClientException {
        this.ship = ship;
        consumer = ClientServiceProvider.loadService().newPushConsumerBuilder()
                .setClientConfiguration(ClientConfiguration.newBuilder().setEndpoints(endpoint).build())
                .setConsumerGroup("warehouse")
                .setSubscriptionExpressions(Map.of(topic, FilterExpression.SUB_ALL))
                .setMessageListener(this::receive)
                .build();
    }

    private ConsumeResult receive(MessageView message) {
        String order = UTF_8.decode(message.getBody()).toString();
        if (!ship.test(order)) {
            return ConsumeResult.FAILURE;
        }
        shipped.add(order);
        return ConsumeResult.SUCCESS;
    }

    /** Returns the orders that were shipped. */
    public List<String> shipped() {
        return shipped;
    }

    @Override
    public void close() throws IOException {
        consumer.close();
    }
}
