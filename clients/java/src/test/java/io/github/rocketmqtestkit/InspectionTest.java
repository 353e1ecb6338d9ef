package io.github.rocketmqtestkit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

@RocketMQTest(topics = "orders:NORMAL:1")
class InspectionTest {
    @Test
    void storedMessagesQueuesAndTimersAreListed(RocketMQ mq) {
        Message sent = mq.topic("orders").send("two teas");
        mq.topic("orders").send(NewMessage.of("drink").property("DELAY", "14"));
        InspectedMessage stored = mq.inspect().messages("orders", "stored").get(0);
        assertEquals(sent.id(), stored.message().id());
        assertEquals(Optional.empty(), stored.dueAt());
        assertEquals(0, stored.place().queueOffset());
        InspectedMessage later = mq.inspect().records("orders", "delayed").get(0);
        assertTrue(later.dueAt().orElseThrow().isAfter(later.storedAt().plus(Duration.ofMinutes(9))));
        assertNotEquals(0, later.record().length);
        assertEquals(2, mq.inspect().messages("orders").size());
        TimerView timer = mq.inspect().timers().get(0);
        assertEquals(OptionalInt.of(14), timer.level());
        assertEquals(later.dueAt(), Optional.of(timer.dueAt()));
        assertEquals(1, mq.inspect().queues("orders").get(0).end());
        RocketMQException refused = assertThrows(
                RocketMQException.class, () -> mq.inspect().messages("orders", "lost"));
        assertTrue(refused.getMessage().startsWith("state="), refused.getMessage());
    }

    @Test
    void groupsAreListedWithTheirProgress(RocketMQ mq) {
        mq.group("warehouse").create(3).resetOffset("orders", "earliest");
        mq.topic("orders").send("two teas");
        ProgressView progress = mq.inspect().queues("orders").get(0).groups().get("warehouse");
        assertEquals(OptionalLong.of(0), progress.committed());
        assertEquals(1, progress.lag());
        assertEquals(Optional.empty(), progress.suspension());
        assertEquals(List.of(mq.inspect().group("warehouse")), mq.inspect().groups());
        assertEquals(3, mq.inspect().group("warehouse").retryMaxTimes());
        assertFalse(mq.inspect().group("ghost").exists());
        assertEquals(List.of(), mq.inspect().assignments("warehouse", "orders"));
    }

    @Test
    void topicsRulesAndConfigurationAreListed(RocketMQ mq) {
        assertTrue(mq.inspect().topics().stream().anyMatch(topic -> topic.name().equals("orders") && !topic.system()));
        mq.faults().add(Rule.of("drop_response").times(1));
        RuleView rule = mq.inspect().rules().get(0);
        assertEquals("drop_response", rule.kind());
        assertTrue(rule.open());
        mq.brokers().configure(Map.of("popPollingSize", 7));
        KeyView key = mq.inspect().configuration("broker-a").stream()
                .filter(each -> each.key().equals("popPollingSize")).findFirst().orElseThrow();
        assertEquals(List.of("7", "changed"), List.of(key.value(), key.origin()));
        assertTrue(mq.inspect().configuration().size() > mq.inspect().configuration("broker-a").size());
        assertTrue(assertThrows(RocketMQException.class, () -> mq.inspect().configuration("broker-x")).isNotFound());
        assertTrue(assertThrows(RocketMQException.class, () -> mq.inspect().queues("order")).isNotFound());
    }

    @Test
    void emulatorWithoutClientsHasEmptyListsOfClients(RocketMQ mq) {
        mq.group("warehouse").create(3);
        Inspection look = mq.inspect();
        assertEquals(List.of(), look.connections());
        assertEquals(List.of(), look.polls());
        assertEquals(List.of(), look.locks());
        assertEquals(List.of(), look.receipts());
        assertEquals(List.of(), look.receipts("warehouse"));
        assertTrue(assertThrows(RocketMQException.class, () -> look.receipts("warehous")).isNotFound());
        assertEquals(List.of(), look.halfMessages());
    }
}
