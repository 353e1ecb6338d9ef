package orders;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.rocketmq.client.apis.ClientConfiguration;
import org.apache.rocketmq.client.apis.ClientException;
import org.apache.rocketmq.client.apis.ClientServiceProvider;
import org.apache.rocketmq.client.apis.message.MessageBuilder;
import org.apache.rocketmq.client.apis.producer.Producer;
import org.apache.rocketmq.client.apis.producer.TransactionResolution;

/** Sends orders. */
public final class Shop implements AutoCloseable {
    private static final ClientServiceProvider PROVIDER = ClientServiceProvider.loadService();

    private final Producer producer;
    private final Set<String> paid = ConcurrentHashMap.newKeySet();

    /** Connects a shop to an endpoint. */
    public Shop(String endpoint) throws ClientException {
        ClientConfiguration configuration = ClientConfiguration.newBuilder()
                .setEndpoints(endpoint).setRequestTimeout(Duration.ofSeconds(2)).build();
        producer = PROVIDER.newProducerBuilder().setClientConfiguration(configuration)
                .setTransactionChecker(order -> decide(order.getKeys().iterator().next())).build();
    }

    /** Sends an order. */
    public void order(String number, String text) throws ClientException {
        producer.send(message("orders", number, text).build());
    }

    /** Sends a reminder that its consumer gets some time later. */
    public void remind(String number, String text, Duration delay) throws ClientException {
        long due = System.currentTimeMillis() + delay.toMillis();
        producer.send(message("reminders", number, text).setDeliveryTimestamp(due).build());
    }

    /** Sends an order that becomes visible once it is paid. The broker learns of the payment by a transaction check. */
    public void orderWhenPaid(String number, String text) throws ClientException {
        producer.send(message("paid-orders", number, text).build(), producer.beginTransaction());
    }

    /** Notes a payment. */
    public void pay(String number) {
        paid.add(number);
    }

    private TransactionResolution decide(String number) {
        return paid.contains(number) ? TransactionResolution.COMMIT : TransactionResolution.UNKNOWN;
    }

    private static MessageBuilder message(String topic, String number, String text) {
        return PROVIDER.newMessageBuilder().setTopic(topic).setKeys(number).setBody(text.getBytes(UTF_8));
    }

    @Override
    public void close() throws IOException {
        producer.close();
    }
}
