package io.github.rocketmqtestkit;

import static java.time.Duration.ofHours;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.Socket;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

@RocketMQTest(topics = "orders")
class EmulatorTest {
    @Test
    void messagesAreSentAndRead(RocketMQ mq) {
        Message sent = mq.topic("orders").send(
                NewMessage.of("two teas, 茶").tag("hot").keys("1001", "vip").property("table", "7"));
        Message found = mq.topic("orders").list().get(0);
        assertEquals("two teas, 茶", found.text());
        assertEquals("hot", found.tag());
        assertEquals(List.of("1001", "vip"), found.keys());
        assertEquals("7", found.properties().get("table"));
        assertEquals(sent.id(), found.id());
        assertEquals(0, found.reconsumeTimes());
        assertTrue(Duration.between(found.storedAt(), mq.clock().now()).compareTo(ofMinutes(1)) < 0);
        mq.topic("orders").assertBodies("two teas, 茶").key("1001").assertSent(1).tag("cold").assertNotSent();
    }

    @Test
    void brokersStopStartAndRestart(RocketMQ mq) {
        mq.brokers().stop("broker-a");
        assertThrows(RocketMQException.class, () -> mq.brokers().restart("broker-a"));
        mq.brokers().start("broker-a");
        mq.brokers().kill("broker-a");
        mq.brokers().start("broker-a");
        mq.brokers().restart();
        mq.brokers().restart("broker-a");
        mq.brokers().crash();
        mq.brokers().crash("broker-a");
        mq.brokers().configure(Map.of("brokerPermission", 4));
        assertTrue(mq.control().get("/v1/config").toString().contains("brokerPermission=4"));
        assertThrows(RocketMQException.class, () -> mq.brokers().configure(Map.of("brokerPermision", 4)));
    }

    @Test
    void groupsAreCreatedAndDeleted(RocketMQ mq) {
        mq.group("packers").createOrderly(2);
        assertTrue(mq.control().get("/v1/groups").toString().contains("orderly=true"));
        Group warehouse = mq.group("warehouse").create(1);
        warehouse.resetOffset("orders", "latest");
        assertTrue(warehouse.explain().sentence().contains("warehouse"));
        warehouse.delete();
        assertThrows(RocketMQException.class, warehouse::retryMessages);
        assertThrows(RocketMQException.class, () -> mq.expireClient("nobody"));
    }

    @Test
    void topicsHaveTypesAndQueues(RocketMQ mq) {
        Topic payments = mq.createTopic("payments:FIFO:4");
        assertEquals("7", payments.send(NewMessage.of(new byte[] {0, (byte) 255}).messageGroup("7")).messageGroup());
        assertEquals((byte) 255, payments.list().get(0).body()[1]);
        Map<String, Object> described = mq.control().get("/v1/topics/payments");
        assertEquals(4L, described.get("queues"));
        assertTrue(assertThrows(RocketMQException.class, () -> mq.createTopic("payments:FIFO:many")).getMessage()
                .startsWith("topic=payments:FIFO:many: is not NAME"));
        payments.delete();
        assertTrue(assertThrows(RocketMQException.class, payments::list).isNotFound());
    }

    @Test
    void forksAreIndependent(RocketMQ mq) throws IOException {
        mq.topic("orders").send("before");
        RocketMQ fork = mq.fork();
        fork.topic("orders").send("in the fork");
        mq.topic("orders").send("in the parent");
        fork.topic("orders").assertBodiesInOrder("before", "in the fork");
        mq.topic("orders").assertBodies("in the parent", "before");
        fork.close();
        fork.close();
        String[] address = fork.endpoint().split(":");
        assertThrows(IOException.class, () -> new Socket(address[0], Integer.parseInt(address[1])).close());
    }

    @Test
    void resetDeletesMessages(RocketMQ mq) {
        mq.topic("orders").send("two teas");
        mq.reset();
        assertTrue(mq.topic("orders").isEmpty());
    }

    @Test
    void clockDeliversDelayedMessages(RocketMQ mq) {
        Topic orders = mq.topic("orders");
        Instant begin = mq.clock().now();
        orders.send(NewMessage.of("drink").property("DELAY", "14")); // ten minutes
        orders.assertBodies();
        mq.clock().advanceUntil(() -> !orders.isEmpty(), ofHours(6));
        assertTrue(Duration.between(begin, mq.clock().now()).compareTo(ofMinutes(9)) > 0);
        orders.send(NewMessage.of("eat").property("DELAY", "14"));
        mq.clock().advanceUntil(Until.messages("orders", 2));
        orders.send(NewMessage.of("sleep").property("DELAY", "14"));
        mq.clock().advance(ofMinutes(11));
        orders.assertBodies("drink", "eat", "sleep");
    }

    @Test
    void conditionThatStaysFalseIsAnError(RocketMQ mq) {
        mq.topic("orders").send(NewMessage.of("drink").property("DELAY", "14"));
        Clock hasty = mq.clock().waitingAtMost(Duration.ofMillis(50));
        RocketMQException late = assertThrows(
                RocketMQException.class, () -> hasty.advanceUntil(() -> false, ofSeconds(1)));
        assertEquals(504, late.status());
        assertTrue(late.kind().endsWith(":clock-timeout"), late.kind());
    }

    @Test
    void rulesAreAddedCountedAndRemoved(RocketMQ mq) {
        Faults.AddedRule rule = mq.faults().add(Rule.of("drop_response").operation("SendMessage").topic("orders").times(1));
        assertEquals(0, rule.fired());
        assertEquals(0, rule.matched());
        assertTrue(rule.toString().startsWith("Rule drop_response matched=0 fired=0 {\"when\":{\"operation\":"),
                rule.toString());
        rule.remove();
        assertEquals("Rule drop_response, removed", rule.toString());
        assertTrue(assertThrows(RocketMQException.class, rule::fired).isNotFound());
        assertFalse(mq.faults().addPreset("lossy-acks").isEmpty());
        mq.faults().clear();
        RocketMQException wrong = assertThrows(
                RocketMQException.class, () -> mq.faults().add(Rule.of("drop_respone")));
        assertTrue(wrong.getMessage().contains("did you mean drop_response?"), wrong.getMessage());
        Rule delay = Rule.of("delay_response", Map.of("duration", "2s")).name("slow").nth(1, 3).probability(0.5);
        assertEquals("slow", mq.faults().add(delay).name());
    }

    @Test
    void explanationAndHistoryNameTheMessage(RocketMQ mq) {
        Message sent = mq.topic("orders").send(NewMessage.of("x").keys("1001"));
        assertTrue(mq.explain("1001", "billing").sentence().contains("billing"));
        assertFalse(mq.explain("1001").reason().isEmpty());
        History history = mq.history("1001");
        assertEquals(sent.id(), history.messageId());
        assertEquals(1, history.steps().size());
        assertEquals("sent", history.steps().get(0).kind());
        assertTrue(mq.group("billing").explain().sentence().contains("billing"));
        assertTrue(mq.report().contains(history.toString()));
    }

    @Test
    void reportHasAMessageOnceWithAllItsCopies(RocketMQ mq) {
        Message sent = mq.topic("orders").send("x");
        for (String topic : List.of("orders", "%RETRY%billing", "%DLQ%billing")) {
            mq.createTopic(topic);
            mq.topic(topic).send(NewMessage.of("x").property("UNIQ_KEY", sent.id()));
        }
        mq.topic("orders").send("y");
        String report = mq.report();
        assertEquals(2, report.split("(?m)^message \\w+ of orders$", -1).length - 1, report);
        assertFalse(report.contains("further"), report);
    }

    @Test
    void unknownNamesAreErrorsWithTheNearest(RocketMQ mq) {
        RocketMQException unknown = assertThrows(RocketMQException.class, () -> mq.topic("order").list());
        assertTrue(unknown.isNotFound());
        assertEquals("orders", unknown.nearest());
        assertTrue(mq.dlq("ghost").isEmpty());
        assertTrue(assertThrows(RocketMQException.class, () -> mq.retryMessages("ghost")).isNotFound());
    }

    @Test
    void failedAssertionNamesTheMostSimilarMessageWithItsHistory(RocketMQ mq) {
        mq.topic("orders").send("two tea");
        mq.topic("orders").send("coffee");
        AssertionError failed = assertThrows(
                AssertionError.class, () -> mq.topic("orders").assertBodies("two teas", "milk"));
        for (String wanted : List.of("missing \"two teas\", \"milk\"; not expected \"two tea\", \"coffee\"",
                "most similar to \"two teas\" is \"two tea\"", "sent")) {
            assertTrue(failed.getMessage().contains(wanted), failed.getMessage());
        }
    }

    @Test
    void assertionsAboutGroupsAreJudged(RocketMQ mq) {
        mq.control().post("/v1/groups", Map.of("name", "billing"));
        mq.topic("orders").send(NewMessage.of("x").keys("1001"));
        mq.group("billing").within(ofMinutes(1)).assertConsumers(0).assertLag(0).assertSubscriptionsAgree();
        assertThrows(AssertionError.class, () -> mq.group("billing").assertConsumers(1));
        assertThrows(AssertionError.class, () -> mq.group("billing").assertLag(3));
        assertThrows(AssertionError.class, () -> mq.message("1001").group("billing").assertAcknowledged());
        assertThrows(AssertionError.class, () -> mq.message("1001").group("billing").assertInDlq());
        assertThrows(AssertionError.class, () -> mq.message("1001").assertCommitted());
        assertThrows(RocketMQException.class, () -> mq.group("billing").waitForConsumer(Duration.ofMillis(1)));
        mq.message("1001").group("billing").assertNotDelivered();
        mq.assertNoErrors();
        assertEquals(List.of(), mq.warnings());
    }

    @Test
    void mappedAddressesAreInRoutesAlsoAfterAReset(RocketMQ mq) {
        RocketMQ mapped = mq.mapped("127.0.0.1:32767", "127.0.0.1:32768", "127.0.0.1:32769");
        assertEquals(List.of("127.0.0.1:32767", "127.0.0.1:32768", "127.0.0.1:32769"),
                List.of(mapped.nameServer(), mapped.broker(), mapped.endpoint()));
        mapped.reset();
        mapped.topic("orders").assertBodies();
        Map<String, String> advertised = mq.control().read("/readyz").map("advertised");
        assertEquals("127.0.0.1:32768", advertised.get("broker-a"));
        assertEquals("127.0.0.1:32769", advertised.get("endpoint"));
    }

    @Test
    void connectedEmulatorKeepsRunning(RocketMQ mq) {
        try (RocketMQ same = RocketMQ.connect(mq.controlUrl())) {
            assertEquals(mq.endpoint(), same.endpoint());
            assertEquals(mq.nameServer(), same.nameServer());
            assertEquals(mq.broker(), same.broker());
        }
        mq.topic("orders").assertBodies();
        RocketMQException wrong = assertThrows(RocketMQException.class, () -> RocketMQ.connect("127.0.0.1:8090"));
        assertTrue(wrong.getMessage().startsWith("control URL=127.0.0.1:8090: is not a URL"), wrong.getMessage());
    }
}
