package io.github.rocketmqtestkit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Iterator;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

@RocketMQTest(topics = {"orders", "payments"})
class JournalTest {
    @Test
    void journalIsReadExportedAndCleared(RocketMQ mq) {
        Message sent = mq.topic("orders").send("two teas");
        mq.topic("payments").send("12 euro");
        JournalPage page = mq.journal().read(Lines.ofOperation("SendMessage").topic("orders"));
        JournalLine line = page.entries().get(0);
        assertEquals(List.of(sent.id()), line.messages());
        assertEquals("responded", line.event());
        JournalPage later = mq.journal().read(Lines.ofOperation("SendMessage").since(line.index() + 1).limit(1));
        assertTrue(later.entries().get(0).index() > line.index());
        String file = mq.journal().export(Lines.all().message(sent.id()));
        assertTrue(file.startsWith("{\"format\":\"rocketmq-journal\""), file);
        assertTrue(file.contains("\"event\":\"message\""), file);
        assertFalse(mq.journal().exportWithoutMessages(Lines.all().limit(1)).contains("\"event\":\"message\""));
        assertEquals(page.written(), mq.journal().clear());
        RocketMQException refused = assertThrows(
                RocketMQException.class, () -> mq.journal().read(Lines.all().event("answer")));
        assertTrue(refused.getMessage().startsWith("event="), refused.getMessage());
    }

    @Test
    void journalIsFollowed(RocketMQ mq) {
        mq.topic("orders").send("before");
        try (Stream<JournalEvent> lines = mq.journal().follow(Lines.ofOperation("SendMessage"))) {
            Iterator<JournalEvent> each = lines.iterator();
            JournalEvent first = each.next();
            assertEquals("orders", first.topic());
            assertEquals("SUCCESS", first.result());
            mq.topic("payments").send("while it is followed");
            assertEquals("payments", each.next().topic());
        }
        try (Stream<JournalEvent> lines = mq.journal().follow(Lines.ofOperation("SendMessage").limit(2))) {
            assertEquals(List.of("orders", "payments"), lines.map(JournalEvent::topic).collect(Collectors.toList()));
        }
        assertThrows(RocketMQException.class, () -> mq.journal().follow(Lines.all().event("answer")));
    }

    @Test
    void snapshotsAreRestored(RocketMQ mq) {
        mq.topic("orders").send("before");
        Snapshot kept = mq.snapshots().create();
        assertEquals(1, kept.messages());
        byte[] file = mq.snapshots().save();
        mq.topic("orders").send("after");
        mq.snapshots().restore(kept.id());
        mq.topic("orders").assertBodies("before");
        mq.topic("orders").send("after");
        mq.snapshots().load(file);
        mq.topic("orders").assertBodies("before");
        assertEquals(List.of(kept), mq.snapshots().list());
        mq.snapshots().delete(kept.id());
        assertTrue(assertThrows(RocketMQException.class, () -> mq.snapshots().restore(kept.id())).isNotFound());
        assertThrows(RocketMQException.class, () -> mq.snapshots().load(new byte[] {1, 2, 3}));
    }
}
