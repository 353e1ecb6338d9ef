package io.github.rocketmqtestkit;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;

/** Each assertion, which holds once and fails once, and each selection of messages. */
final class AssertionRows {
    private static final byte[] TWO_TEAS = "two teas".getBytes(StandardCharsets.UTF_8);

    private final Map<String, MethodsTest.Call> rows;

    AssertionRows(Map<String, MethodsTest.Call> rows) {
        this.rows = rows;
    }

    /** An assertion about the shop. */
    private interface Assertion {
        void about(RocketMQ shop);
    }

    private void row(String method, Assertion holds, Assertion wrong, String text) {
        rows.put(method, (shop, fork) -> {
            holds.about(shop);
            String failure = assertThrows(AssertionError.class, () -> wrong.about(shop)).getMessage();
            assertTrue(failure.contains(text), failure);
        });
    }

    void add() {
        row("StoredMessages.assertBodies(String[])",
                shop -> shop.topic("orders").assertBodies("two teas", "more teas", "a coffee"),
                shop -> shop.topic("orders").assertBodies("two teas"), "not expected");
        row("StoredMessages.assertBodies(List)", shop -> shop.dlq("delivery").assertBodies(List.of("tea".getBytes())),
                shop -> shop.dlq("delivery").assertBodies(List.of()), "not expected");
        row("StoredMessages.assertBodiesInOrder(String[])",
                shop -> shop.topic("orders").assertBodiesInOrder("two teas", "a coffee", "more teas"),
                shop -> shop.topic("orders").assertBodiesInOrder("more teas", "a coffee", "two teas"), "order");
        row("Messages.assertSent()", shop -> shop.topic("orders").tag("a").assertSent(),
                shop -> shop.topic("orders").tag("c").assertSent(), "no message");
        row("Messages.assertSent(int)", shop -> shop.topic("orders").tag("a").assertSent(2),
                shop -> shop.topic("orders").tag("a").assertSent(3), "M1");
        row("Messages.assertNotSent()", shop -> shop.topic("orders").tag("c").assertNotSent(),
                shop -> shop.topic("orders").tag("a").assertNotSent(), "M1");
        row("Messages.assertDelivered()", shop -> shop.message("1001").group("billing").assertDelivered(),
                shop -> shop.message("1002").assertDelivered(), "M2");
        row("Messages.assertDelivered(int)", shop -> shop.message("1001").group("billing").assertDelivered(1),
                shop -> shop.message("1001").group("billing").assertDelivered(2), "M1");
        row("Messages.assertNotDelivered()", shop -> shop.message("1002").assertNotDelivered(),
                shop -> shop.message("1001").assertNotDelivered(), "M1");
        row("Messages.assertAcknowledged()", shop -> shop.message("1001").group("billing").assertAcknowledged(),
                shop -> shop.message("1003").group("billing").assertAcknowledged(), "M3");
        row("Messages.assertRetried(int)", shop -> shop.message("2").group("delivery").assertRetried(1),
                shop -> shop.message("2").group("delivery").assertRetried(2), "M5");
        row("Messages.assertInDlq()", shop -> shop.message("1").group("delivery").assertInDlq(),
                shop -> shop.message("2").group("delivery").assertInDlq(), "M5");
        row("Messages.assertOrdered(Order)",
                shop -> steps(shop).messageGroup("table-8").assertOrdered(Messages.Order.MESSAGE_GROUP),
                shop -> steps(shop).assertOrdered(Messages.Order.MESSAGE_GROUP), "table-7");
        row("Messages.assertNoLoss()", shop -> shop.topic("parcels").group("delivery").key("1").assertNoLoss(),
                shop -> shop.topic("orders").group("billing").assertNoLoss(), "M3");
        row("Messages.assertNoDuplicates()", shop -> shop.topic("orders").group("billing").assertNoDuplicates(),
                shop -> shop.topic("orders").group("audit").assertNoDuplicates(), "M1");
        row("Messages.assertChecked(int)", shop -> shop.message("M10").assertChecked(1),
                shop -> shop.message("M10").assertChecked(2), "M10");
        row("Messages.assertCommitted()", shop -> shop.message("M11").assertCommitted(),
                shop -> shop.message("M12").assertCommitted(), "M12");
        row("Messages.assertRolledBack()", shop -> shop.message("M12").assertRolledBack(),
                shop -> shop.message("M11").assertRolledBack(), "M11");
        row("Messages.assertDelayedUntil(Instant, Duration)",
                shop -> shop.message("M13").assertDelayedUntil(after(shop, 2), Duration.ofMinutes(1)),
                shop -> shop.message("M13").assertDelayedUntil(after(shop, 1), Duration.ZERO), "M13");
        row("Group.assertIdle()", shop -> shop.group("leaving").assertIdle(),
                shop -> shop.group("billing").assertIdle(), "billing");
        row("Group.assertLag(int)", shop -> shop.group("billing").assertLag(1),
                shop -> shop.group("billing").assertLag(2), "billing");
        row("Group.assertConsumers(int)", shop -> shop.group("mixed").assertConsumers(2),
                shop -> shop.group("mixed").assertConsumers(1), "mixed");
        row("Group.assertSubscriptionsAgree()", shop -> shop.group("billing").assertSubscriptionsAgree(),
                shop -> shop.group("mixed").assertSubscriptionsAgree(), "mixed");
        rows.put("RocketMQ.assertNoErrors()", (shop, fork) -> {
            try (RocketMQ fresh = RocketMQ.forTest("no errors")) {
                fresh.assertNoErrors();
            }
            assertThrows(AssertionError.class, shop::assertNoErrors);
        });
        addSelections();
    }

    private void addSelections() {
        row("Messages.key(String)", shop -> shop.topic("orders").key("1001").assertSent(1),
                shop -> shop.topic("orders").key("1004").assertSent(), "no message");
        row("Messages.tag(String)", shop -> shop.topic("orders").tag("b").assertSent(1),
                shop -> shop.topic("orders").tag("c").assertSent(), "no message");
        row("Messages.id(String)", shop -> shop.topic("orders").id("M1").assertSent(1),
                shop -> shop.topic("orders").id("M4").assertSent(), "M4");
        row("Messages.messageGroup(String)", shop -> shop.topic("steps").messageGroup("table-7").assertSent(3),
                shop -> shop.topic("steps").messageGroup("table-9").assertSent(), "table-9");
        row("Messages.text(String)", shop -> shop.topic("orders").text("two teas").assertSent(1),
                shop -> shop.topic("orders").text("two tea").assertSent(), "two tea");
        row("Messages.body(byte[])", shop -> shop.topic("orders").body(TWO_TEAS).assertSent(1),
                shop -> shop.topic("parcels").body(TWO_TEAS).assertSent(), "two teas");
        row("Messages.property(String, String)", shop -> shop.topic("orders").property("UNIQ_KEY", "M1").assertSent(1),
                shop -> shop.topic("orders").property("UNIQ_KEY", "M4").assertSent(), "M4");
        row("Messages.group(String)", shop -> shop.message("1001").group("audit").assertDelivered(2),
                shop -> shop.message("1001").group("billing").assertDelivered(2), "M1");
        row("Messages.client(String)", shop -> shop.message("1001").client("c1").assertDelivered(1),
                shop -> shop.message("1001").client("c3").assertDelivered(1), "M1");
        rows.put("Messages.within(Duration)", (shop, fork) -> {
            Instant before = fork.clock().now();
            assertThrows(AssertionError.class,
                    () -> fork.topic("reminders").within(Duration.ofHours(1)).assertSent());
            assertTrue(fork.clock().now().isAfter(before));
        });
        rows.put("Group.within(Duration)", (shop, fork) -> {
            Instant before = fork.clock().now();
            assertThrows(AssertionError.class, () -> fork.group("audit").within(Duration.ofHours(1)).assertLag(7));
            assertTrue(fork.clock().now().isAfter(before));
        });
    }

    private static Messages steps(RocketMQ shop) {
        return shop.topic("steps").group("kitchen");
    }

    private static Instant after(RocketMQ shop, int hours) {
        return shop.clock().now().plus(Duration.ofHours(hours));
    }
}
