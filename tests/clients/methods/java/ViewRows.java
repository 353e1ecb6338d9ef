package io.github.rocketmqtestkit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** Methods of the clock, the brokers and the other parts of an emulator. */
final class ViewRows {
    private static final Duration LIMIT = Duration.ofHours(3);
    private static final Map<String, Object> KEYS = Map.of("popPollingSize", 7);

    private final Map<String, MethodsTest.Call> rows;

    ViewRows(Map<String, MethodsTest.Call> rows) {
        this.rows = rows;
    }

    private void row(String method, MethodsTest.Call call) {
        rows.put(method, call);
    }

    void add() {
        addClock();
        addBrokers();
        addFaults();
        addInspection();
        addJournalAndSnapshots();
        row("Control.get(String)", (shop, fork) -> assertEquals(true, shop.control().get("/v1/clock").get("frozen")));
        row("Control.post(String, Map)", (shop, fork) ->
                assertEquals("a", fork.control().post("/v1/topics", Map.of("name", "a")).get("name")));
        row("Control.patch(String, Map)", (shop, fork) -> {
            fork.control().patch("/v1/config", Map.of("keys", KEYS));
            assertEquals("7", size(fork));
        });
        row("Control.delete(String)", (shop, fork) -> {
            fork.control().delete("/v1/topics/teas");
            assertThrows(RocketMQException.class, () -> fork.topic("teas").info());
        });
    }

    private static String size(RocketMQ mq) {
        return mq.brokers().configuration().brokers().get("broker-a").get("popPollingSize");
    }

    private static boolean isRunning(RocketMQ mq) {
        return mq.brokers().list().get(0).running();
    }

    private void addClock() {
        row("Clock.waitingAtMost(Duration)", (shop, fork) -> {
            Instant before = fork.clock().now();
            fork.clock().waitingAtMost(Duration.ofSeconds(1)).advance(Duration.ofHours(1));
            assertEquals(before.plus(Duration.ofHours(1)), fork.clock().now());
        });
        row("Clock.now()", (shop, fork) -> assertEquals(12, shop.clock().now().atZone(ZoneOffset.UTC).getHour()));
        row("Clock.isFrozen()", (shop, fork) -> assertTrue(shop.clock().isFrozen()));
        row("Clock.scheduled(int)", (shop, fork) -> assertEquals(2, shop.clock().scheduled(2).size()));
        row("Clock.advance(Duration)", (shop, fork) -> {
            Instant before = fork.clock().now();
            fork.clock().advance(Duration.ofHours(1));
            assertEquals(before.plus(Duration.ofHours(1)), fork.clock().now());
        });
        row("Clock.advanceToNext()", (shop, fork) -> {
            Instant before = fork.clock().now();
            fork.clock().advanceToNext();
            assertTrue(fork.clock().now().isAfter(before));
        });
        row("Clock.advanceUntil(BooleanSupplier)", (shop, fork) ->
                fork.clock().advanceUntil(() -> fork.topic("teas").size() == 1));
        row("Clock.advanceUntil(BooleanSupplier, Duration)", (shop, fork) -> {
            fork.clock().advanceUntil(() -> fork.topic("teas").size() == 1, LIMIT);
            assertThrows(RocketMQException.class, () -> fork.clock().advanceUntil(() -> false, Duration.ofMillis(1)));
        });
        row("Clock.advanceUntil(Until)", (shop, fork) -> {
            fork.clock().advanceUntil(Until.messages("teas", 1));
            assertEquals(1, fork.topic("teas").size());
        });
        row("Clock.advanceUntil(Until, Duration)", (shop, fork) -> {
            fork.clock().advanceUntil(Until.messages("teas", 1), LIMIT);
            assertEquals(1, fork.topic("teas").size());
        });
    }

    private void addBrokers() {
        row("Brokers.crash()", (shop, fork) -> fork.brokers().crash());
        row("Brokers.crash(String)", (shop, fork) -> {
            assertThrows(RocketMQException.class, () -> fork.brokers().crash("broker-x"));
            fork.brokers().crash("broker-a");
        });
        row("Brokers.crashProcess(String)", (shop, fork) -> {
            assertThrows(RocketMQException.class, () -> fork.brokers().crashProcess("broker-x"));
            fork.brokers().crashProcess("broker-a");
        });
        row("Brokers.restart()", (shop, fork) -> fork.brokers().restart());
        row("Brokers.restart(String)", (shop, fork) -> {
            assertThrows(RocketMQException.class, () -> fork.brokers().restart("broker-x"));
            fork.brokers().restart("broker-a");
        });
        row("Brokers.stop(String)", (shop, fork) -> {
            fork.brokers().stop("broker-a");
            assertFalse(isRunning(fork));
        });
        row("Brokers.kill(String)", (shop, fork) -> {
            fork.brokers().kill("broker-a");
            assertFalse(isRunning(fork));
        });
        row("Brokers.start(String)", (shop, fork) -> {
            fork.brokers().stop("broker-a");
            fork.brokers().start("broker-a");
            assertTrue(isRunning(fork));
        });
        row("Brokers.configure(Map)", (shop, fork) -> {
            fork.brokers().configure(KEYS);
            assertEquals("7", size(fork));
        });
        row("Brokers.configure(String, Map)", (shop, fork) -> {
            fork.brokers().configure("broker-a", KEYS);
            assertEquals("7", size(fork));
        });
        row("Brokers.list()", (shop, fork) -> assertEquals("broker-a", shop.brokers().list().get(0).name()));
        row("Brokers.configuration()", (shop, fork) ->
                assertTrue(shop.brokers().configuration().brokers().containsKey("broker-a")));
    }

    private static Rule lost() {
        return Rule.of("drop_response").operation("SendMessage").name("lost").times(3);
    }

    private void addFaults() {
        row("Faults.add(Rule)", (shop, fork) -> assertEquals("lost", fork.faults().add(lost()).name()));
        row("Faults.addAll(List)", (shop, fork) -> assertEquals(1, fork.faults().addAll(List.of(lost())).size()));
        row("Faults.list()", (shop, fork) -> {
            fork.faults().add(lost());
            assertEquals("lost", fork.faults().list().get(0).name());
        });
        row("Faults.addPreset(String)", (shop, fork) -> assertFalse(fork.faults().addPreset("lossy-acks").isEmpty()));
        row("Faults.addPreset(String, Map)", (shop, fork) ->
                assertFalse(fork.faults().addPreset("lossy-acks", Map.of()).isEmpty()));
        row("Faults.clear()", (shop, fork) -> {
            fork.faults().add(lost());
            fork.faults().clear();
            assertEquals(List.of(), fork.faults().list());
        });
        row("AddedRule.name()", (shop, fork) -> assertEquals("lost", fork.faults().add(lost()).name()));
        row("AddedRule.matched()", (shop, fork) -> assertEquals(0, fork.faults().add(lost()).matched()));
        row("AddedRule.fired()", (shop, fork) -> assertEquals(0, fork.faults().add(lost()).fired()));
        row("AddedRule.toString()", (shop, fork) ->
                assertTrue(fork.faults().add(lost()).toString().startsWith("Rule lost matched=0 fired=0 {")));
        row("AddedRule.events()", (shop, fork) ->
                assertEquals(3L, fork.faults().add(lost()).events().rule().get("times")));
        row("AddedRule.remove()", (shop, fork) -> {
            fork.faults().add(lost()).remove();
            assertEquals(List.of(), fork.faults().list());
        });
    }

    private void addInspection() {
        row("Inspection.topics()", (shop, fork) ->
                assertTrue(shop.inspect().topics().stream().anyMatch(each -> each.name().equals("orders"))));
        row("Inspection.queues(String)", (shop, fork) -> assertEquals(2, shop.inspect().queues("orders").size()));
        row("Inspection.messages(String)", (shop, fork) -> assertEquals(3, shop.inspect().messages("orders").size()));
        row("Inspection.messages(String, String)", (shop, fork) ->
                assertEquals("delayed", shop.inspect().messages("teas", "delayed").get(0).state()));
        row("Inspection.records(String, String)", (shop, fork) ->
                assertTrue(shop.inspect().records("teas", "delayed").get(0).record().length > 0));
        row("Inspection.receipts()", (shop, fork) -> assertEquals("c1", shop.inspect().receipts().get(0).client()));
        row("Inspection.receipts(String)", (shop, fork) -> {
            assertEquals(1, shop.inspect().receipts("billing").size());
            assertEquals(List.of(), shop.inspect().receipts("audit"));
        });
        row("Inspection.locks()", (shop, fork) -> assertEquals("locker", shop.inspect().locks().get(0).client()));
        row("Inspection.timers()", (shop, fork) -> assertEquals("M13", shop.inspect().timers().get(0).messageId()));
        row("Inspection.halfMessages()", (shop, fork) ->
                assertEquals("M10", shop.inspect().halfMessages().get(0).messageId()));
        row("Inspection.groups()", (shop, fork) ->
                assertTrue(shop.inspect().groups().stream().anyMatch(each -> each.name().equals("kitchen"))));
        row("Inspection.group(String)", (shop, fork) -> assertTrue(shop.inspect().group("kitchen").exists()));
        row("Inspection.assignments(String, String)", (shop, fork) ->
                assertEquals("c2", shop.inspect().assignments("audit", "orders").get(0).client()));
        row("Inspection.connections()", (shop, fork) ->
                assertEquals("c1", shop.inspect().connections().get(0).client()));
        row("Inspection.polls()", (shop, fork) -> assertEquals("waiting", shop.inspect().polls().get(0).client()));
        row("Inspection.rules()", (shop, fork) -> {
            fork.faults().add(lost());
            assertEquals("drop_response", fork.inspect().rules().get(0).kind());
        });
        row("Inspection.configuration()", (shop, fork) ->
                assertTrue(nodes(shop.inspect().configuration()).contains("proxy")));
        row("Inspection.configuration(String)", (shop, fork) ->
                assertEquals(List.of("broker-a"), nodes(shop.inspect().configuration("broker-a"))));
    }

    private static List<String> nodes(List<KeyView> keys) {
        return keys.stream().map(KeyView::node).distinct().collect(Collectors.toList());
    }

    private void addJournalAndSnapshots() {
        Lines sends = Lines.ofOperation("SendMessage").topic("orders");
        row("Journal.read(Lines)", (shop, fork) -> assertEquals(3, shop.journal().read(sends).entries().size()));
        row("Journal.clear()", (shop, fork) -> {
            fork.topic("reminders").send("drink");
            assertTrue(fork.journal().clear() > 0);
            assertEquals(List.of(), fork.journal().read(Lines.all()).entries());
        });
        row("Journal.export(Lines)", (shop, fork) ->
                assertTrue(shop.journal().export(Lines.all()).contains("\"event\":\"message\"")));
        row("Journal.exportWithoutMessages(Lines)", (shop, fork) ->
                assertFalse(shop.journal().exportWithoutMessages(Lines.all()).contains("\"event\":\"message\"")));
        row("Journal.follow(Lines)", (shop, fork) -> assertEquals(List.of("c1", "c1"),
                shop.journal().follow(Lines.all().client("c1").limit(2)).map(JournalEvent::client)
                        .collect(Collectors.toList())));
        row("Snapshots.create()", (shop, fork) ->
                assertEquals(List.of("broker-a"), fork.snapshots().create().brokers()));
        row("Snapshots.list()", (shop, fork) -> {
            Snapshot kept = fork.snapshots().create();
            assertEquals(kept.id(), fork.snapshots().list().get(0).id());
        });
        row("Snapshots.delete(String)", (shop, fork) -> {
            fork.snapshots().delete(fork.snapshots().create().id());
            assertEquals(List.of(), fork.snapshots().list());
        });
        row("Snapshots.restore(String)", (shop, fork) -> {
            Snapshot kept = fork.snapshots().create();
            fork.topic("reminders").send("drink");
            fork.snapshots().restore(kept.id());
            assertTrue(fork.topic("reminders").isEmpty());
        });
        row("Snapshots.save()", (shop, fork) -> assertTrue(fork.snapshots().save().length > 100));
        row("Snapshots.load(byte[])", (shop, fork) -> {
            byte[] file = fork.snapshots().save();
            fork.topic("reminders").send("drink");
            fork.snapshots().load(file);
            assertTrue(fork.topic("reminders").isEmpty());
        });
    }
}
