import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.apache.rocketmq.client.apis.ClientConfiguration;
import org.apache.rocketmq.client.apis.ClientException;
import org.apache.rocketmq.client.apis.ClientServiceProvider;
import org.apache.rocketmq.client.apis.consumer.FilterExpression;
import org.apache.rocketmq.client.apis.consumer.SimpleConsumer;
import org.apache.rocketmq.client.apis.message.MessageView;

/**
 * Small applications that consume orders, and write each order that they have processed as a line to a ledger.
 *
 * <p>Arguments: endpoint, consumer group, topic, ledger, application. The ledger survives crashes, as a database does.
 * The program prints a line once its consumer has started. When its standard input ends, the program ends once it has
 * processed the current message.
 */
public final class OrderConsumer {
    private static final Duration INVISIBLE = Duration.ofSeconds(30);
    private static final Duration REQUEST_TIMEOUT = Duration.ofSeconds(3);

    private final SimpleConsumer consumer;
    private final Path ledger;
    private final Application application;
    private final Set<String> remembered = new HashSet<>();

    private OrderConsumer(SimpleConsumer consumer, Path ledger, Application application) {
        this.consumer = consumer;
        this.ledger = ledger;
        this.application = application;
    }

    /** Processes an order and acknowledges its message, in either sequence. */
    private interface Application {
        void handle(OrderConsumer shop, String order, Acknowledgement acknowledgement) throws IOException;
    }

    /** Acknowledges the current message. A lost acknowledgement is no error: the broker delivers the message again. */
    private interface Acknowledgement {
        void send();
    }

    private static final Map<String, Application> APPLICATIONS = Map.of(
        "charge-each-delivery", (shop, order, acknowledgement) -> {
            shop.write(order);
            acknowledgement.send();
        },
        "charge-each-order", (shop, order, acknowledgement) -> {
            if (!shop.written().contains(order)) {
                shop.write(order);
            }
            acknowledgement.send();
        },
        "acknowledge-then-ship", (shop, order, acknowledgement) -> {
            acknowledgement.send();
            shop.write(order);
        },
        "ship-then-acknowledge", (shop, order, acknowledgement) -> {
            shop.write(order);
            acknowledgement.send();
        },
        "remember-until-duplicate", (shop, order, acknowledgement) -> {
            if (!shop.remembered.remove(order)) {
                shop.remembered.add(order);
                shop.write(order);
            }
            acknowledgement.send();
        },
        "remember", (shop, order, acknowledgement) -> {
            if (shop.remembered.add(order)) {
                shop.write(order);
            }
            acknowledgement.send();
        });

    public static void main(String[] arguments) throws ClientException {
        ClientServiceProvider provider = ClientServiceProvider.loadService();
        SimpleConsumer consumer = provider.newSimpleConsumerBuilder()
            .setClientConfiguration(ClientConfiguration.newBuilder()
                .setEndpoints(arguments[0])
                .setRequestTimeout(REQUEST_TIMEOUT)
                .build())
            .setConsumerGroup(arguments[1])
            .setSubscriptionExpressions(Map.of(arguments[2], FilterExpression.SUB_ALL))
            .setAwaitDuration(Duration.ofSeconds(5))
            .build();
        OrderConsumer shop = new OrderConsumer(consumer, Path.of(arguments[3]), APPLICATIONS.get(arguments[4]));
        Thread end = new Thread(shop::awaitEnd, "end");
        end.setDaemon(true);
        end.start();
        System.out.println("started");
        shop.run();
    }

    private void run() {
        while (true) {
            try {
                for (MessageView message : consumer.receive(1, INVISIBLE)) {
                    handle(message);
                }
            } catch (ClientException | RuntimeException lost) {
                Thread.yield(); // the SDK opens another connection
            }
        }
    }

    private synchronized void handle(MessageView message) {
        try {
            application.handle(this, message.getKeys().iterator().next(), () -> acknowledge(message));
        } catch (IOException failed) { // without an acknowledgement: the broker delivers the message again
            System.err.println(failed);
        }
    }

    private void acknowledge(MessageView message) {
        try {
            consumer.ack(message);
        } catch (ClientException | RuntimeException lost) {
            System.err.println(lost);
        }
    }

    private Set<String> written() throws IOException {
        return Files.exists(ledger) ? new HashSet<>(Files.readAllLines(ledger)) : Set.of();
    }

    private void write(String order) throws IOException {
        byte[] line = (order + "\n").getBytes(StandardCharsets.UTF_8);
        Files.write(ledger, line, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    }

    private void awaitEnd() {
        try {
            while (System.in.read() >= 0) {
                Thread.yield();
            }
        } catch (IOException closed) {
            System.err.println(closed);
        }
        synchronized (this) { // after the message that is processed
            System.exit(0);
        }
    }
}
