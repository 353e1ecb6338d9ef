package orders;

import static java.time.Duration.between;
import static java.time.Duration.ofHours;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.rocketmqtestkit.RocketMQ;
import io.github.rocketmqtestkit.RocketMQTest;
import io.github.rocketmqtestkit.Rule;
import io.github.rocketmqtestkit.Until;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

@RocketMQTest(topics = {"orders", "paid-orders:TRANSACTION", "reminders:DELAY"})
class OrdersTest {
    @Test
    void orderThatCannotBeShippedIsADeadLetter(RocketMQ mq) throws Exception {
        try (var shop = new Shop(mq.endpoint());
                var warehouse = new Warehouse(mq.endpoint(), "orders", order -> false)) {
            shop.order("1001", "two teas");
            mq.clock().advanceUntil(() -> !mq.dlq("warehouse").isEmpty(), ofHours(48));
            mq.dlq("warehouse").assertBodies("two teas");
            mq.message("1001").group("warehouse").assertInDlq();
            assertEquals(List.of(), warehouse.shipped());
        }
    }

    @Test
    void lostResponseStoresTheOrderTwice(RocketMQ mq) throws Exception {
        try (var shop = new Shop(mq.endpoint())) {
            var lost = mq.faults().add(Rule.of("drop_response").operation("SendMessage").topic("orders").times(1));
            shop.order("1001", "two teas");
            assertEquals(1, lost.fired());
            mq.topic("orders").assertBodies("two teas", "two teas"); // the SDK has sent it again
        }
    }

    @Test
    void orderIsVisibleOnceItIsPaid(RocketMQ mq) throws Exception {
        try (var shop = new Shop(mq.endpoint())) {
            shop.orderWhenPaid("1001", "two teas");
            mq.topic("paid-orders").assertBodies();
            shop.pay("1001");
            mq.waitForProducer("paid-orders", ofSeconds(30));
            mq.clock().advanceUntil(Until.messages("paid-orders", 1));
            mq.message("1001").assertCommitted().assertChecked(1);
        }
    }

    @Test
    void reminderArrivesAfterTenMinutes(RocketMQ mq) throws Exception {
        try (var shop = new Shop(mq.endpoint());
                var warehouse = new Warehouse(mq.endpoint(), "reminders", order -> true)) {
            Instant begin = mq.clock().now();
            shop.remind("1001", "bring the tea", ofMinutes(10));
            mq.message("1001").assertNotDelivered().group("warehouse").within(ofHours(1)).assertAcknowledged();
            assertTrue(between(begin, mq.clock().now()).compareTo(ofMinutes(9)) > 0);
            assertEquals(List.of("bring the tea"), warehouse.shipped());
        }
    }

    @Test
    void orderIsShippedAtTheSecondAttempt(RocketMQ mq) throws Exception {
        var attempts = new AtomicInteger();
        try (var shop = new Shop(mq.endpoint());
                var warehouse = new Warehouse(mq.endpoint(), "orders", order -> attempts.incrementAndGet() == 2)) {
            shop.order("1001", "two teas");
            mq.message("1001").group("warehouse").within(ofHours(1)).assertAcknowledged().assertRetried(1);
            assertEquals(List.of("two teas"), warehouse.shipped());
        }
    }
}
