package io.github.rocketmqtestkit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

@RocketMQTest(topics = "orders:NORMAL:1")
class ListsTest {
    private static void assertNotFound(Executable request) {
        assertTrue(assertThrows(RocketMQException.class, request).isNotFound());
    }

    @Test
    void topicsAreListedAndShown(RocketMQ mq) {
        mq.createTopic(NewTopic.of("payments").type("FIFO").queues(4));
        assertEquals(List.of("orders", "payments"),
                mq.topics().stream().map(TopicInfo::name).collect(Collectors.toList()));
        assertTrue(mq.topics(true).size() > 2);
        mq.createTopic(NewTopic.of("payments").queues(6).broker("broker-a").cluster("DefaultCluster"));
        TopicInfo payments = mq.topic("payments").info();
        assertEquals(6, payments.queues());
        assertEquals("FIFO", payments.type());
        assertEquals(List.of("broker-a"), payments.brokers());
        assertNotFound(() -> mq.topic("order").info());
    }

    @Test
    void groupsAreListedAndShownWithOffsets(RocketMQ mq) {
        mq.group("warehouse").enableConsumption(false);
        assertFalse(mq.groups().get(0).consumeEnable());
        assertTrue(mq.groups(true).size() > 1);
        mq.topic("orders").send("two teas");
        mq.group("warehouse").resetOffset("orders", 1);
        GroupState state = mq.group("warehouse").state();
        QueueOffsets queue = state.offsets().get(0);
        assertEquals(OptionalLong.of(1), queue.committed());
        assertEquals(List.of(0L, 1L), List.of(state.lag(), queue.end()));
        mq.group("warehouse").deleteKeepingOffsets();
        assertNotFound(() -> mq.group("warehouse").state());
    }

    @Test
    void clientsAreListedAndExplained(RocketMQ mq) {
        assertEquals(List.of(), mq.clients());
        String explained = mq.explainClient("nobody").toString();
        assertTrue(explained.contains("no client nobody is connected"), explained);
    }

    @Test
    void brokersAreListedWithTheirConfiguration(RocketMQ mq) {
        BrokerInfo broker = mq.brokers().list().get(0);
        assertEquals("broker-a", broker.name());
        assertTrue(broker.running());
        mq.brokers().configure("broker-a", Map.of("popPollingSize", 7));
        assertEquals("7", mq.brokers().configuration().brokers().get("broker-a").get("popPollingSize"));
        assertNotFound(() -> mq.brokers().configure("broker-x", Map.of("popPollingSize", 7)));
        mq.brokers().crashProcess("broker-a");
        assertNotFound(() -> mq.brokers().crashProcess("broker-x"));
    }

    @Test
    void scheduledEventsOfTheClockAreListed(RocketMQ mq) {
        mq.topic("orders").send(NewMessage.of("drink").property("DELAY", "14"));
        ScheduledEvent due = mq.clock().scheduled(100).stream()
                .filter(event -> event.kind().equals("delay level")).findFirst().orElseThrow();
        assertTrue(due.dueAt().isAfter(mq.clock().now().plus(Duration.ofMinutes(9))), due.toString());
        assertEquals(List.of(), mq.clock().scheduled(0));
        assertFalse(mq.clock().isFrozen());
    }

    @Test
    void rulesAreListedWithTheirFirings(RocketMQ mq) {
        Rule odd = Rule.of("respond", Map.of("code", "CONSUMER_NOT_ONLINE")).operation("SendMessage").name("odd");
        assertThrows(RocketMQException.class, () -> mq.faults().add(odd));
        List<Faults.AddedRule> added = mq.faults().addAll(
                List.of(Rule.of("drop_response").topic("orders").name("first").nth(1, 3), odd.anyCode()));
        assertEquals(List.of("first", "odd"),
                mq.faults().list().stream().map(RuleState::name).collect(Collectors.toList()));
        RuleEvents events = added.get(0).events();
        assertEquals(0, events.matched());
        assertEquals(List.of(1L, 3L), events.rule().get("nth"));
        assertEquals(List.of(), events.events());
        assertThrows(RocketMQException.class,
                () -> mq.faults().addAll(List.of(Rule.of("drop_response").name("third"), Rule.of("drop"))));
        assertEquals(2, mq.faults().list().size());
    }

    @Test
    void forksAreListed(RocketMQ mq) {
        try (RocketMQ fork = mq.fork(new ForkOptions().advertise("192.0.2.1"))) {
            ForkInfo listed = mq.forks().get(0);
            assertEquals(fork.controlUrl(), listed.control());
            assertTrue(listed.advertised().get("endpoint").startsWith("192.0.2.1:"), listed.toString());
        }
        assertEquals(List.of(), mq.forks());
        assertThrows(RocketMQException.class, () -> mq.fork(new ForkOptions().nameServerPort(70_000)));
    }

    @Test
    void transactionsAreListed(RocketMQ mq) {
        assertEquals(List.of(), mq.topic("orders").halfMessages());
        assertEquals(List.of(), mq.topic("orders").discardedMessages());
        assertEquals(List.of(), mq.halfMessages());
        assertEquals(List.of(), mq.discardedMessages());
        assertNotFound(() -> mq.topic("order").halfMessages());
    }

    @Test
    void metricsAndCertificateAreRead(RocketMQ mq) {
        assertTrue(mq.metrics().contains("# TYPE rocketmq_"));
        assertEquals(0, mq.receiveMetrics().receives());
        assertTrue(mq.certificateAuthority().startsWith("-----BEGIN CERTIFICATE-----"));
    }

    @Test
    void warningsSayWhatClientsDoNotReport(RocketMQ mq) {
        mq.faults().add(Rule.of("drop_response").topic("ordres"));
        Warning warning = mq.warnings().get(0);
        assertEquals("faults", warning.kind());
        assertTrue(warning.text().contains("ordres"), warning.text());
    }

    @Test
    void usersAreRefusedByBrokersThatKeepNone(RocketMQ mq) {
        User user = User.of("shop", "secret").allow("Topic:orders", "Pub", "Get").deny("Topic:secrets", "All");
        RocketMQException refused = assertThrows(RocketMQException.class, () -> mq.putUser(user));
        assertTrue(refused.getMessage().contains("keeps no users"), refused.getMessage());
    }

    @RocketMQTest(arguments = {
        "--set", "authenticationMetadataProvider="
            + "org.apache.rocketmq.auth.authentication.provider.LocalAuthenticationMetadataProvider",
        "--set", "authorizationMetadataProvider="
            + "org.apache.rocketmq.auth.authorization.provider.LocalAuthorizationMetadataProvider"})
    @Test
    void usersAreCreatedWhereBrokersKeepThem(RocketMQ mq) {
        mq.putUser(User.of("shop", "secret").allow("Topic:orders", "Pub", "Get").deny("Topic:secrets", "All"));
        mq.putUser(User.of("root", "secret").superUser());
    }

    @Test
    void advertisedAddressesAreInRoutes(RocketMQ mq) {
        mq.advertise("broker-a", "127.0.0.1:32768");
        assertEquals("127.0.0.1:32768", advertised(mq).get("broker-a"));
        mq.advertise("broker-a", null);
        assertNotEquals("127.0.0.1:32768", advertised(mq).get("broker-a"));
        assertNotFound(() -> mq.advertise("broker-x", "127.0.0.1:2"));
    }

    private static Map<String, String> advertised(RocketMQ mq) {
        return new Fields(mq.control().get("/readyz")).map("advertised");
    }

    @Test
    void resetMayKeepConnections(RocketMQ mq) {
        mq.topic("orders").send("two teas");
        mq.resetKeepingConnections();
        mq.topic("orders").assertBodies();
    }

    @Test
    void bodiesMayBeBytes(RocketMQ mq) {
        byte[] body = {0, (byte) 0xff};
        Message sent = mq.topic("orders").send(NewMessage.of(body));
        mq.topic("orders").assertBodies(List.of(body));
        assertThrows(AssertionError.class,
                () -> mq.topic("orders").assertBodies(List.of("x".getBytes(StandardCharsets.UTF_8))));
        mq.topic("orders").id(sent.id()).assertSent(1);
        assertEquals(0, sent.physicalOffset());
        assertFalse(sent.isCompressed());
        assertFalse(sent.offsetId().isEmpty());
        assertTrue(sent.bornHost().contains(":"), sent.bornHost());
    }

    @Test
    void explanationsMayNameTheTopic(RocketMQ mq) {
        mq.createTopic("payments");
        for (String topic : List.of("orders", "payments")) {
            mq.topic(topic).send(NewMessage.of(topic).keys("1001"));
        }
        assertThrows(RocketMQException.class, () -> mq.explain("1001"));
        Explanation explained = mq.explain("1001", "billing", "payments");
        assertEquals("payments", explained.message().topic());
        assertEquals("billing", explained.group());
        assertEquals("payments", mq.history("1001", null, "payments").topic());
    }
}
