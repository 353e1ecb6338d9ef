package orders;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.time.Duration.ofHours;
import static java.time.Duration.ofSeconds;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import io.github.rocketmqtestkit.RocketMQ;
import java.util.List;
import java.util.Map;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.apis.ClientConfiguration;
import org.apache.rocketmq.client.apis.ClientServiceProvider;
import org.apache.rocketmq.client.apis.consumer.ConsumeResult;
import org.apache.rocketmq.client.apis.consumer.FilterExpression;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Tests with an emulator that clients reach only through mapped ports. */
abstract class MappedPorts {
    /** Returns the emulator, with the mapped addresses. */
    abstract RocketMQ emulator();

    @BeforeEach
    void reset() {
        emulator().reset();
        emulator().createTopic("orders");
    }

    @Test
    void clientsOfGrpcSendAndReceive() throws Exception {
        var provider = ClientServiceProvider.loadService();
        var configuration = ClientConfiguration.newBuilder().setEndpoints(emulator().endpoint()).build();
        try (var producer = provider.newProducerBuilder().setClientConfiguration(configuration).build();
                var warehouse = provider.newPushConsumerBuilder().setClientConfiguration(configuration)
                        .setConsumerGroup("warehouse")
                        .setSubscriptionExpressions(Map.of("orders", FilterExpression.SUB_ALL))
                        .setMessageListener(order -> ConsumeResult.SUCCESS).build()) {
            producer.send(provider.newMessageBuilder().setTopic("orders").setKeys("1001")
                    .setBody("two teas".getBytes(UTF_8)).build());
            emulator().message("1001").group("warehouse").within(ofHours(1)).assertAcknowledged();
            assertNotNull(warehouse);
        }
    }

    @Test
    void clientsOfRemotingSendAndReceive() throws Exception {
        var received = new LinkedBlockingQueue<String>();
        var producer = new DefaultMQProducer("shop");
        var warehouse = new DefaultMQPushConsumer("warehouse");
        try {
            producer.setNamesrvAddr(emulator().nameServer());
            producer.start();
            warehouse.setNamesrvAddr(emulator().nameServer());
            warehouse.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
            warehouse.subscribe("orders", "*");
            warehouse.registerMessageListener((MessageListenerConcurrently) (orders, context) -> {
                orders.forEach(order -> received.add(new String(order.getBody(), UTF_8)));
                return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
            });
            warehouse.start();
            producer.send(new Message("orders", "", "1001", "two teas".getBytes(UTF_8)));
            assertEquals("two teas", received.poll(30, TimeUnit.SECONDS));
            emulator().group("warehouse").waitForConsumer(ofSeconds(30));
            assertEquals(List.of("two teas"), emulator().topic("orders").texts());
        } finally {
            warehouse.shutdown();
            producer.shutdown();
        }
    }
}
