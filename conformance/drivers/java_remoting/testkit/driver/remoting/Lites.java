package testkit.driver.remoting;

import java.io.Closeable;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.rocketmq.client.consumer.DefaultLitePullConsumer;
import org.apache.rocketmq.client.impl.MQAdminImpl;
import org.apache.rocketmq.client.impl.MQClientManager;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;
import testkit.driver.Command;
import testkit.driver.Refusal;

/** The verbs of lite pull consumers. */
final class Lites {
    private final Main main;

    Lites(Main main) {
        this.main = main;
    }

    void register() {
        main.loop.verb("lite", this::lite);
        main.loop.verb("poll", this::poll);
        main.loop.verb("seek", this::seek);
        main.loop.verb("commit", this::commit);
        main.loop.verb("offsets", this::offsets);
        main.loop.verb("assign", this::assign);
    }

    private Map<String, Object> lite(Command command) throws Exception {
        main.loop.free(command);
        DefaultLitePullConsumer consumer = new DefaultLitePullConsumer(command.text("group"), main.signer);
        main.prepare(consumer, command);
        consumer.setAutoCommit(false);
        consumer.setPullBatchSize(command.number("batch", 10L).intValue());
        consumer.setConsumeFromWhere(Pushes.from(command));
        Set<String> topics = new LinkedHashSet<>();
        for (Map.Entry<String, Command> sub : command.table("sub").entrySet()) {
            consumer.subscribe(sub.getKey(), Pushes.selector(sub.getValue()));
            topics.add(sub.getKey());
        }
        consumer.start();
        Lite lite = new Lite(consumer, topics);
        if (command.has("assign")) {
            topics.add(command.text("assign"));
            hold(lite, consumer.fetchMessageQueues(command.text("assign")), command.text("from", "last"));
        }
        main.loop.keep(command, lite);
        return Map.of();
    }

    private Map<String, Object> poll(Command command) throws Exception {
        DefaultLitePullConsumer consumer = main.loop.on(command, Lite.class).consumer;
        List<Object> messages = new ArrayList<>();
        for (MessageExt message : consumer.poll(command.number("ms", 1000L))) {
            messages.add(Messages.show(message));
        }
        return Map.of("messages", messages);
    }

    private Map<String, Object> assign(Command command) throws Exception {
        Lite lite = main.loop.on(command, Lite.class);
        List<Long> numbers = command.numbers("numbers");
        List<MessageQueue> chosen = new ArrayList<>();
        for (MessageQueue queue : lite.consumer.fetchMessageQueues(command.text("topic"))) {
            if (!command.has("numbers") || numbers.contains((long) queue.getQueueId())) {
                chosen.add(queue);
            }
        }
        if (command.has("numbers") && chosen.size() != numbers.size()) {
            throw new Refusal("BadCommand", "not all of these queues are there: " + numbers);
        }
        lite.topics.add(command.text("topic"));
        hold(lite, chosen, "first");
        return Map.of();
    }

    /** Holds these queues and no others, each from its stored offset or, without one, from an end. */
    private static void hold(Lite lite, Collection<MessageQueue> queues, String from) throws Exception {
        lite.consumer.assign(queues);
        for (MessageQueue queue : queues) {
            Long committed = lite.consumer.committed(queue);
            if (committed != null && committed >= 0) {
                continue;
            }
            if (from.equals("first")) {
                lite.consumer.seekToBegin(queue);
            } else {
                lite.consumer.seekToEnd(queue);
            }
        }
    }

    private Map<String, Object> seek(Command command) throws Exception {
        Lite lite = main.loop.on(command, Lite.class);
        MessageQueue queue = queue(lite, command);
        if (!command.has("to")) {
            lite.consumer.seek(queue, command.number("offset"));
        } else if (command.text("to").equals("first")) {
            lite.consumer.seekToBegin(queue);
        } else {
            lite.consumer.seekToEnd(queue);
        }
        return Map.of();
    }

    /** Stops or starts the pulls of one queue, or of all that the consumer holds of the topic. */
    static Map<String, Object> pause(Lite lite, Command command, boolean stop) throws Exception {
        List<MessageQueue> chosen = new ArrayList<>();
        for (MessageQueue queue : lite.consumer.assignment()) {
            if (queue.getTopic().equals(command.text("topic"))
                && command.number("queue", (long) queue.getQueueId()) == queue.getQueueId()) {
                chosen.add(queue);
            }
        }
        if (stop) {
            lite.consumer.pause(chosen);
        } else {
            lite.consumer.resume(chosen);
        }
        return Map.of();
    }

    // The deprecated name is the one that both versions have. The store is written at once, not at its next period.
    @SuppressWarnings("deprecation")
    private Map<String, Object> commit(Command command) throws Exception {
        Lite lite = main.loop.on(command, Lite.class);
        lite.consumer.commitSync();
        Set<MessageQueue> queues = new LinkedHashSet<>();
        for (String topic : lite.topics) {
            queues.addAll(lite.consumer.fetchMessageQueues(topic));
        }
        lite.consumer.getOffsetStore().persistAll(queues);
        return Map.of();
    }

    private Map<String, Object> offsets(Command command) throws Exception {
        Lite lite = main.loop.on(command, Lite.class);
        MessageQueue queue = queue(lite, command);
        // The consumer has no such calls of its own; the client instance that it runs on does.
        MQAdminImpl admin =
            MQClientManager.getInstance().getOrCreateMQClientInstance(lite.consumer).getMQAdminImpl();
        Map<String, Object> reply = new LinkedHashMap<>();
        reply.put("min", admin.minOffset(queue));
        reply.put("max", admin.maxOffset(queue));
        reply.put("committed", lite.consumer.committed(queue));
        reply.put("at", command.has("at") ? admin.searchOffset(queue, command.number("at")) : null);
        reply.put("earliest", admin.earliestMsgStoreTime(queue));
        return reply;
    }

    private static MessageQueue queue(Lite lite, Command command) throws Exception {
        long number = command.number("queue");
        for (MessageQueue queue : lite.consumer.fetchMessageQueues(command.text("topic"))) {
            if (queue.getQueueId() == number) {
                return queue;
            }
        }
        throw new Refusal("BadCommand", command.text("topic") + " has no queue " + number);
    }

    /** A started lite pull consumer and its topics. */
    static final class Lite implements Closeable {
        final DefaultLitePullConsumer consumer;
        private final Set<String> topics;

        Lite(DefaultLitePullConsumer consumer, Set<String> topics) {
            this.consumer = consumer;
            this.topics = topics;
        }

        @Override
        public void close() {
            consumer.shutdown();
        }
    }
}
