package orders;

import static java.time.Duration.between;
import static java.time.Duration.ofHours;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.rocketmqtestkit.RocketMQ;
import io.github.rocketmqtestkit.Rule;
import io.github.rocketmqtestkit.Until;
import io.github.rocketmqtestkit.spring.RocketMQConnection;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.context.annotation.Import;
import org.springframework.test.annotation.DirtiesContext;

@SpringBootTest
@RocketMQConnection(topics = {"orders", "paid-orders:TRANSACTION"})
@DirtiesContext(classMode = DirtiesContext.ClassMode.AFTER_EACH_TEST_METHOD) // an emulator for each test
@Import(OrdersTest.Lorry.class)
class OrdersTest {
    /** A carrier that does what the test says. */
    static class Lorry implements Carrier {
        volatile Predicate<String> answer = order -> true;

        @Override
        public boolean takes(String order) {
            return answer.test(order);
        }
    }

    @Autowired
    private Shop shop;

    @Autowired
    private Payments payments;

    @Autowired
    private Warehouse warehouse;

    @Autowired
    private Lorry lorry;

    @Test
    void orderThatCannotBeShippedIsADeadLetter(RocketMQ mq) {
        lorry.answer = order -> false;
        shop.order("1001", "two teas");
        mq.clock().advanceUntil(() -> !mq.dlq("warehouse").isEmpty(), ofHours(48));
        mq.dlq("warehouse").assertBodies("two teas");
        mq.message("1001").group("warehouse").assertInDlq();
        assertEquals(List.of(), warehouse.shipped());
    }

    @Test
    void lostResponseStoresTheOrderTwice(RocketMQ mq) {
        var closed = Rule.of("drop_response", Map.of("how", "close")).operation("SendMessage").topic("orders").times(1);
        var lost = mq.faults().add(closed);
        shop.order("1001", "two teas");
        assertEquals(1, lost.fired());
        mq.topic("orders").assertBodies("two teas", "two teas"); // the SDK has sent it again
    }

    @Test
    void orderIsVisibleOnceItIsPaid(RocketMQ mq) {
        shop.orderWhenPaid("1001", "two teas");
        mq.topic("paid-orders").assertBodies();
        payments.pay("1001");
        mq.waitForProducer("shop", ofSeconds(60));
        mq.clock().advanceUntil(Until.messages("paid-orders", 1));
        mq.message("1001").assertCommitted();
    }

    @Test
    void reminderArrivesAfterTenMinutes(RocketMQ mq) {
        Instant begin = mq.clock().now();
        shop.remind("1001", "bring the tea", ofMinutes(10));
        mq.message("1001").assertNotDelivered().group("warehouse").within(ofHours(1)).assertAcknowledged();
        assertTrue(between(begin, mq.clock().now()).compareTo(ofMinutes(9)) > 0);
        assertEquals(List.of("bring the tea"), warehouse.shipped());
    }

    @Test
    void orderIsShippedAtTheSecondAttempt(RocketMQ mq) {
        var attempts = new AtomicInteger();
        lorry.answer = order -> attempts.incrementAndGet() == 2;
        shop.order("1001", "two teas");
        mq.message("1001").group("warehouse").within(ofHours(1)).assertAcknowledged().assertRetried(1);
        assertEquals(List.of("two teas"), warehouse.shipped());
    }
}
