package io.github.rocketmqtestkit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** Methods of emulators, topics and groups. */
final class EmulatorRows {
    private static final Duration SHORT = Duration.ofMillis(1);

    private final Map<String, MethodsTest.Call> rows;

    EmulatorRows(Map<String, MethodsTest.Call> rows) {
        this.rows = rows;
    }

    private void row(String method, MethodsTest.Call call) {
        rows.put(method, call);
    }

    private static List<String> topics(RocketMQ mq) {
        return mq.topics().stream().map(TopicInfo::name).collect(Collectors.toList());
    }

    private static List<String> groups(RocketMQ mq) {
        return mq.groups().stream().map(GroupInfo::name).collect(Collectors.toList());
    }

    private static List<String> clients(RocketMQ mq) {
        return mq.clients().stream().map(ClientInfo::id).collect(Collectors.toList());
    }

    private static String advertised(RocketMQ mq, String server) {
        return new Fields(mq.control().get("/readyz")).map("advertised").get(server);
    }

    private static void assertEnded(RocketMQ mq) {
        assertThrows(RocketMQException.class, () -> mq.clock().now());
    }

    void add() {
        addLife();
        addLists();
        addExplanations();
        addTopics();
        addGroups();
    }

    private void addLife() {
        row("RocketMQ.start(String[])", (shop, fork) -> {
            try (RocketMQ started = RocketMQ.start("a", "b")) {
                assertEquals(List.of("a", "b"), topics(started));
            }
        });
        row("RocketMQ.start(Options)", (shop, fork) -> {
            try (RocketMQ started = RocketMQ.start(new RocketMQ.Options().topics("a"))) {
                assertEquals(List.of("a"), topics(started));
            }
        });
        row("Options.topics(String[])", (shop, fork) -> assertThrows(RocketMQException.class,
                () -> RocketMQ.start(new RocketMQ.Options().topics("a:FIFOO"))));
        row("Options.command(String)", (shop, fork) -> assertThrows(RocketMQException.class,
                () -> RocketMQ.start(new RocketMQ.Options().command("/nowhere"))));
        row("Options.arguments(String[])", (shop, fork) -> assertThrows(RocketMQException.class,
                () -> RocketMQ.start(new RocketMQ.Options().arguments("--brokers", "none"))));
        row("RocketMQ.connect(String)", (shop, fork) ->
                assertEquals(fork.endpoint(), RocketMQ.connect(fork.controlUrl()).endpoint()));
        row("RocketMQ.connect(String, String)", (shop, fork) ->
                assertEquals(fork.endpoint(), RocketMQ.connect(fork.controlUrl(), "").endpoint()));
        row("RocketMQ.forTest(String, String[])", (shop, fork) -> {
            try (RocketMQ mq = RocketMQ.forTest("a test", "a")) {
                assertEquals(List.of("a"), topics(mq));
            }
        });
        row("RocketMQ.mapped(String, String, String)", (shop, fork) -> {
            RocketMQ mapped = fork.mapped("127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3");
            assertEquals("127.0.0.1:3", advertised(mapped, "endpoint"));
        });
        row("RocketMQ.advertise(String, String)", (shop, fork) -> {
            fork.advertise("broker-a", "127.0.0.1:2");
            assertEquals("127.0.0.1:2", advertised(fork, "broker-a"));
        });
        row("RocketMQ.fork()", (shop, fork) -> {
            try (RocketMQ other = fork.fork()) {
                assertEquals(3, other.topic("orders").size());
            }
        });
        row("RocketMQ.fork(ForkOptions)", (shop, fork) -> {
            try (RocketMQ other = fork.fork(new ForkOptions().advertise("192.0.2.1"))) {
                assertTrue(advertised(other, "endpoint").startsWith("192.0.2.1:"));
            }
        });
        row("RocketMQ.forks()", (shop, fork) -> {
            try (RocketMQ other = fork.fork()) {
                assertEquals(other.controlUrl(), fork.forks().get(0).control());
            }
        });
        row("RocketMQ.reset()", (shop, fork) -> {
            fork.topic("reminders").send("drink");
            fork.reset();
            assertTrue(fork.topic("reminders").isEmpty());
        });
        row("RocketMQ.reset(ResetOptions)", (shop, fork) -> {
            Instant later = fork.clock().now().plusSeconds(3600);
            fork.reset(new ResetOptions().startAt(later).frozen(true));
            assertEquals(later, fork.clock().now());
        });
        row("RocketMQ.resetKeepingConnections()", (shop, fork) -> {
            fork.topic("reminders").send("drink");
            fork.resetKeepingConnections();
            assertTrue(fork.topic("reminders").isEmpty());
        });
        row("RocketMQ.hold(String, Duration)", (shop, fork) -> {
            try (Hold held = fork.hold("a row", SHORT)) {
                assertEquals(Duration.ZERO, held.waited());
                String refusal = assertThrows(RocketMQException.class, () -> fork.hold("another", SHORT)).getMessage();
                assertTrue(refusal.startsWith("a row has held the emulator for "), refusal);
            }
        });
        // LostHoldTest of the helper has a hold that is lost.
        row("RocketMQ.requireHold()", (shop, fork) -> fork.requireHold());
        row("Hold.close()", (shop, fork) -> {
            fork.hold("a row", SHORT).close();
            fork.hold("another", Duration.ofSeconds(5)).close();
        });
        row("Hold.waited()", (shop, fork) -> {
            try (Hold held = fork.hold("a row", SHORT)) {
                assertEquals(Duration.ZERO, held.waited());
            }
        });
        row("RocketMQ.close()", (shop, fork) -> {
            fork.close();
            assertEnded(fork);
        });
        row("RocketMQ.endpoint()", (shop, fork) -> assertNotEquals(shop.endpoint(), fork.endpoint()));
        row("RocketMQ.nameServer()", (shop, fork) -> assertNotEquals(shop.nameServer(), fork.nameServer()));
        row("RocketMQ.broker()", (shop, fork) -> assertEquals(fork.broker(), fork.brokers().list().get(0).address()));
        row("RocketMQ.controlUrl()", (shop, fork) -> assertNotEquals(shop.controlUrl(), fork.controlUrl()));
    }

    private void addLists() {
        row("RocketMQ.control()", (shop, fork) ->
                assertEquals("3.1.0", shop.control().get("/openapi.json").get("openapi")));
        row("RocketMQ.clock()", (shop, fork) -> assertTrue(shop.clock().isFrozen()));
        row("RocketMQ.faults()", (shop, fork) -> assertEquals(List.of(), shop.faults().list()));
        row("RocketMQ.brokers()", (shop, fork) -> assertEquals("broker-a", shop.brokers().list().get(0).name()));
        row("RocketMQ.inspect()", (shop, fork) -> assertEquals("M13", shop.inspect().timers().get(0).messageId()));
        row("RocketMQ.journal()", (shop, fork) -> assertTrue(shop.journal().read(Lines.all()).written() > 0));
        row("RocketMQ.snapshots()", (shop, fork) -> assertEquals(List.of(), fork.snapshots().list()));
        row("RocketMQ.topic(String)", (shop, fork) -> assertEquals(3, shop.topic("orders").size()));
        row("RocketMQ.group(String)", (shop, fork) -> assertEquals(1, shop.group("billing").state().lag()));
        row("RocketMQ.dlq(String)", (shop, fork) ->
                assertEquals(List.of("1"), shop.dlq("delivery").list().get(0).keys()));
        row("RocketMQ.message(String)", (shop, fork) -> shop.message("1001").assertSent(1));
        row("RocketMQ.createTopic(String)", (shop, fork) ->
                assertEquals("FIFO", fork.createTopic("stock:FIFO:3").info().type()));
        row("RocketMQ.createTopic(NewTopic)", (shop, fork) ->
                assertEquals(3, fork.createTopic(NewTopic.of("stock").queues(3)).info().queues()));
        row("RocketMQ.topics()", (shop, fork) ->
                assertTrue(shop.topics().stream().anyMatch(each -> each.name().equals("parcels"))));
        row("RocketMQ.topics(boolean)", (shop, fork) ->
                assertTrue(shop.topics(true).size() > shop.topics(false).size()));
        row("RocketMQ.groups()", (shop, fork) ->
                assertTrue(shop.groups().stream().anyMatch(each -> each.name().equals("billing"))));
        row("RocketMQ.groups(boolean)", (shop, fork) ->
                assertTrue(shop.groups(true).size() > shop.groups(false).size()));
        row("RocketMQ.clients()", (shop, fork) -> assertEquals("c1", shop.clients().get(1).id()));
        row("RocketMQ.expireClient(String)", (shop, fork) -> {
            shop.expireClient("leaving-java");
            assertFalse(clients(shop).contains("leaving-java"));
        });
        row("RocketMQ.putUser(User)", (shop, fork) -> {
            String refused = assertThrows(RocketMQException.class, () -> shop.putUser(User.of("a", "b"))).getMessage();
            assertTrue(refused.contains("keeps no users"), refused);
        });
        row("RocketMQ.retryMessages(String)", (shop, fork) ->
                assertEquals(List.of("2"), shop.retryMessages("delivery").get(0).keys()));
        row("RocketMQ.halfMessages()", (shop, fork) -> assertEquals("open", shop.halfMessages().get(0).text()));
        row("RocketMQ.discardedMessages()", (shop, fork) -> {
            assertEquals(List.of(), fork.discardedMessages());
            fork.clock().advance(Duration.ofMinutes(15));
            assertEquals("open", fork.discardedMessages().get(0).text());
        });
        row("RocketMQ.metrics()", (shop, fork) -> assertTrue(shop.metrics().contains("# TYPE rocketmq_")));
        row("RocketMQ.receiveMetrics()", (shop, fork) -> assertEquals(0, shop.receiveMetrics().popsInProgress()));
        row("RocketMQ.certificateAuthority()", (shop, fork) ->
                assertTrue(shop.certificateAuthority().startsWith("-----BEGIN CERTIFICATE-----")));
        row("RocketMQ.waitForProducer(String, Duration)", (shop, fork) -> {
            shop.waitForProducer("shop", Duration.ofSeconds(1));
            assertThrows(RocketMQException.class, () -> shop.waitForProducer("ghosts", SHORT));
        });
    }

    private void addExplanations() {
        row("RocketMQ.explain(String)", (shop, fork) -> assertEquals(3, shop.explain("1001").groups().size()));
        row("RocketMQ.explain(String, String)", (shop, fork) ->
                assertEquals("ACKNOWLEDGED", shop.explain("1001", "billing").reason()));
        row("RocketMQ.explain(String, String, String)", (shop, fork) ->
                assertEquals("ACKNOWLEDGED", shop.explain("1001", "billing", "orders").reason()));
        row("RocketMQ.explainClient(String)", (shop, fork) -> {
            String explained = shop.explainClient("c1").toString();
            assertTrue(explained.contains("1 message in flight"), explained);
        });
        row("RocketMQ.history(String)", (shop, fork) ->
                assertEquals("sent", shop.history("1001").steps().get(0).kind()));
        row("RocketMQ.history(String, String, String)", (shop, fork) ->
                assertEquals(3, shop.history("1001", "billing", "orders").steps().size()));
        row("RocketMQ.warnings()", (shop, fork) ->
                assertTrue(shop.warnings().stream().anyMatch(each -> "mixed".equals(each.group()))));
        row("RocketMQ.report()", (shop, fork) -> assertTrue(shop.report().contains(" of orders\n")));
    }

    private void addTopics() {
        row("Topic.name()", (shop, fork) -> assertEquals("orders", shop.topic("orders").name()));
        row("Topic.send(String)", (shop, fork) -> assertEquals("drink", fork.topic("reminders").send("drink").text()));
        row("Topic.send(NewMessage)", (shop, fork) ->
                assertEquals("hot", fork.topic("reminders").send(NewMessage.of("drink").tag("hot")).tag()));
        row("Topic.info()", (shop, fork) -> assertEquals("FIFO", shop.topic("steps").info().type()));
        row("Topic.halfMessages()", (shop, fork) ->
                assertEquals("open", shop.topic("payments").halfMessages().get(0).text()));
        row("Topic.discardedMessages()", (shop, fork) -> {
            fork.clock().advance(Duration.ofMinutes(15));
            assertEquals("open", fork.topic("payments").discardedMessages().get(0).text());
        });
        row("Topic.delete()", (shop, fork) -> {
            fork.topic("teas").delete();
            assertFalse(topics(fork).contains("teas"));
        });
        row("StoredMessages.list()", (shop, fork) -> assertEquals("M1", shop.topic("orders").list().get(0).id()));
        row("StoredMessages.texts()", (shop, fork) -> assertTrue(shop.topic("orders").texts().contains("two teas")));
        row("StoredMessages.size()", (shop, fork) -> assertEquals(3, shop.topic("orders").size()));
        row("StoredMessages.isEmpty()", (shop, fork) -> {
            assertTrue(shop.topic("reminders").isEmpty());
            assertFalse(shop.topic("orders").isEmpty());
        });
    }

    private void addGroups() {
        row("Group.name()", (shop, fork) -> assertEquals("billing", shop.group("billing").name()));
        row("Group.dlq()", (shop, fork) -> assertEquals(1, shop.group("delivery").dlq().size()));
        row("Group.retryMessages()", (shop, fork) ->
                assertEquals(List.of("2"), shop.group("delivery").retryMessages().get(0).keys()));
        row("Group.explain()", (shop, fork) -> {
            String explained = shop.group("billing").explain().toString();
            assertTrue(explained.contains("1 message in flight"), explained);
        });
        row("Group.create(int)", (shop, fork) ->
                assertEquals(2, fork.group("storage").create(2).state().group().retryMaxTimes()));
        row("Group.createOrderly(int)", (shop, fork) ->
                assertTrue(fork.group("storage").createOrderly(2).state().group().orderly()));
        row("Group.enableConsumption(boolean)", (shop, fork) ->
                assertFalse(fork.group("storage").enableConsumption(false).state().group().consumeEnable()));
        row("Group.state()", (shop, fork) -> assertEquals(List.of("c1"), shop.group("billing").state().members()));
        row("Group.delete()", (shop, fork) -> {
            fork.group("audit").delete();
            assertFalse(groups(fork).contains("audit"));
        });
        row("Group.deleteKeepingOffsets()", (shop, fork) -> {
            fork.group("audit").deleteKeepingOffsets();
            fork.group("audit").create(2).assertLag(1);
        });
        row("Group.resetOffset(String, String)", (shop, fork) -> {
            fork.group("audit").resetOffset("orders", "earliest");
            fork.group("audit").assertLag(3);
        });
        row("Group.resetOffset(String, long)", (shop, fork) -> {
            fork.group("audit").resetOffset("orders", 1);
            fork.group("audit").assertLag(1);
        });
        row("Group.waitForConsumer(Duration)", (shop, fork) -> {
            shop.group("billing").waitForConsumer(Duration.ofSeconds(1));
            assertThrows(RocketMQException.class, () -> shop.group("ghosts").waitForConsumer(SHORT));
        });
        row("Group.waitForAssignment(Duration)", (shop, fork) ->
                assertThrows(RocketMQException.class, () -> shop.group("ghosts").waitForAssignment(SHORT)));
    }
}
