package testkit.driver.remoting;

import java.io.Closeable;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Supplier;
import org.apache.rocketmq.client.consumer.AllocateMessageQueueStrategy;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.MessageSelector;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragelyByCircle;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueConsistentHash;
import org.apache.rocketmq.client.impl.consumer.RebalanceImpl;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.utils.MessageUtil;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;
import testkit.driver.Command;
import testkit.driver.Refusal;
import testkit.driver.Script;

/** The verbs of push consumers. */
final class Pushes {
    private static final long MINUTE = 60_000;

    /** How the consumers of a group divide the queues of a topic among themselves, by the names that these have. */
    static final Map<String, AllocateMessageQueueStrategy> ALLOCATIONS = new TreeMap<>();

    static {
        for (AllocateMessageQueueStrategy each : List.of(new AllocateMessageQueueAveragely(),
            new AllocateMessageQueueAveragelyByCircle(), new AllocateMessageQueueConsistentHash())) {
            ALLOCATIONS.put(each.getName(), each);
        }
    }

    private final Main main;

    Pushes(Main main) {
        this.main = main;
    }

    void register() {
        main.loop.verb("push", this::push);
        main.loop.verb("count", command -> Map.of("count", main.loop.on(command, Push.class).script.calls.get()));
        main.loop.verb("queues", this::queues);
        main.loop.verb("pause", command -> pause(command, true));
        main.loop.verb("resume", command -> pause(command, false));
    }

    private Map<String, Object> push(Command command) throws Exception {
        main.loop.free(command);
        AllocateMessageQueueStrategy usual = new AllocateMessageQueueAveragely();
        DefaultMQPushConsumer consumer = command.has("trace")
            ? new DefaultMQPushConsumer(command.text("group"), main.signer, usual, true, command.text("trace"))
            : new DefaultMQPushConsumer(command.text("group"), main.signer, usual);
        main.prepare(consumer, command);
        consumer.setConsumeFromWhere(from(command));
        if (command.has("threads")) {
            int threads = (int) command.number("threads");
            // The larger bound first: the client refuses a minimum above its maximum at start only.
            consumer.setConsumeThreadMax(threads);
            consumer.setConsumeThreadMin(threads);
        }
        if (command.has("max_reconsume")) {
            consumer.setMaxReconsumeTimes((int) command.number("max_reconsume"));
        }
        if (command.has("consume_ms")) {
            limit(consumer, command);
        }
        if (command.has("allocate")) {
            consumer.setAllocateMessageQueueStrategy(allocation(command.text("allocate")));
        }
        for (Map.Entry<String, Command> sub : command.table("sub").entrySet()) {
            consumer.subscribe(sub.getKey(), selector(sub.getValue()));
        }
        String mode = command.text("mode", "concurrent");
        if (command.has("suspend") && !mode.equals("orderly")) {
            throw new Refusal("Unsupported", "only an orderly consumer can suspend");
        }
        if (!command.has("hang_ms")) {
            awaitListeners(consumer);
        }
        Push push = new Push(command, consumer);
        switch (mode) {
            case "orderly":
                push.orderly();
                break;
            case "broadcast":
                Old.setEnum(consumer, "setMessageModel", "BROADCASTING");
                push.concurrent();
                break;
            case "pop":
                Old.call(method(mode), consumer, false);
                push.concurrent();
                break;
            case "concurrent":
                push.concurrent();
                break;
            default:
                throw new Refusal("BadCommand", "this driver has no push mode " + mode);
        }
        consumer.start();
        main.loop.keep(command, push);
        return Map.of();
    }

    /**
     * Lets `close` wait until a listener that has told its message has returned to the SDK. Otherwise the SDK commits
     * the offset before it or behind it, as threads happen to run. Listeners that hang are interrupted as by default.
     */
    private static void awaitListeners(DefaultMQPushConsumer consumer) throws Exception {
        Method setter = Old.method(DefaultMQPushConsumer.class, "setAwaitTerminationMillisWhenShutdown", long.class);
        if (setter != null) {
            Old.call(setter, consumer, MINUTE);
        }
    }

    private static Method method(String mode) throws Refusal {
        Method setter =
            Old.method(DefaultMQPushConsumer.class, "setClientRebalance", boolean.class);
        if (setter == null) {
            throw new Refusal("BadCommand", "this SDK has no push mode " + mode);
        }
        return setter;
    }

    /** Limits how long a listener may take; the SDK counts that of concurrent consumers in minutes. */
    private static void limit(DefaultMQPushConsumer consumer, Command command) throws Exception {
        long millis = command.number("consume_ms");
        if (command.text("mode", "concurrent").equals("concurrent") && millis % MINUTE == 0) {
            consumer.setConsumeTimeout(millis / MINUTE);
            return;
        }
        Method setter = Old.method(DefaultMQPushConsumer.class, "setPopInvisibleTime", long.class);
        if (!command.text("mode", "concurrent").equals("pop") || setter == null) {
            throw new Refusal("Unsupported", "this consumer takes no limit of " + millis + " ms");
        }
        Old.call(setter, consumer, millis);
    }

    private static AllocateMessageQueueStrategy allocation(String name) throws Refusal {
        AllocateMessageQueueStrategy found = ALLOCATIONS.get(name);
        if (found == null) {
            throw new Refusal("Unsupported", "this driver has no allocation " + name);
        }
        return found;
    }

    static ConsumeFromWhere from(Command command) throws Exception {
        return command.text("from", "last").equals("first")
            ? ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET : ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET;
    }

    static MessageSelector selector(Command sub) throws Exception {
        String expression = sub.text("expr", "*");
        return sub.text("type", "TAG").equals("SQL92")
            ? MessageSelector.bySql(expression) : MessageSelector.byTag(expression);
    }

    /** Stops or starts the pulls of a whole push consumer, or of queues of a lite one. */
    private Map<String, Object> pause(Command command, boolean stop) throws Exception {
        if (main.loop.on(command, Object.class) instanceof Lites.Lite) {
            return Lites.pause(main.loop.on(command, Lites.Lite.class), command, stop);
        }
        DefaultMQPushConsumer consumer = main.loop.on(command, Push.class).consumer;
        if (stop) {
            consumer.suspend();
        } else {
            consumer.resume();
        }
        return Map.of();
    }

    /** The queues that a consumer holds right now. */
    private Map<String, Object> queues(Command command) throws Exception {
        if (main.loop.on(command, Object.class) instanceof Lites.Lite) {
            return Map.of("queues", Main.show(main.loop.on(command, Lites.Lite.class).consumer.assignment()));
        }
        RebalanceImpl rebalance =
            main.loop.on(command, Push.class).consumer.getDefaultMQPushConsumerImpl().getRebalanceImpl();
        Set<MessageQueue> held = new LinkedHashSet<>(rebalance.getProcessQueueTable().keySet());
        Method popped = Old.method(RebalanceImpl.class, "getPopProcessQueueTable");
        if (popped != null) {
            for (Object queue : ((Map<?, ?>) Old.call(popped, rebalance)).keySet()) {
                held.add((MessageQueue) queue);
            }
        }
        return Map.of("queues", Main.show(held));
    }

    /** A push consumer and its listener. */
    private final class Push implements Closeable {
        final Script script;
        private final DefaultMQPushConsumer consumer;
        private final Long pause;
        private final String answer;
        private DefaultMQProducer replier;

        Push(Command command, DefaultMQPushConsumer consumer) throws Exception {
            this.consumer = consumer;
            script = new Script(main.loop, command);
            pause = command.number("suspend_ms", null);
            answer = command.text("answer", null);
            if (answer != null) {
                String name = command.text("as");
                replier = new DefaultMQProducer("driver-replier-" + name, main.signer);
                main.prepare(replier, name + "-replier").start();
            }
        }

        void concurrent() {
            consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) ->
                consume(messages.get(0)).equals(Script.SUCCESS)
                    ? ConsumeConcurrentlyStatus.CONSUME_SUCCESS : ConsumeConcurrentlyStatus.RECONSUME_LATER);
        }

        void orderly() {
            consumer.registerMessageListener((MessageListenerOrderly) (messages, context) -> {
                String did = consume(messages.get(0));
                if (did.equals(Script.SUSPEND) && pause != null) {
                    context.setSuspendCurrentQueueTimeMillis(pause);
                }
                return did.equals(Script.SUCCESS)
                    ? ConsumeOrderlyStatus.SUCCESS : ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT;
            });
        }

        private String consume(MessageExt message) {
            Supplier<Map<String, Object>> shown = () -> Messages.show(message);
            long now = script.begin(shown);
            String did = script.act(message.getMsgId(), message.getBody(), message.getReconsumeTimes() + 1);
            if (answer != null && message.getProperty("REPLY_TO_CLIENT") != null && !reply(message)) {
                did = Script.FAIL;
            }
            script.tell(now, did, shown);
            if (did.equals(Script.THROW)) {
                throw new IllegalStateException("the listener throws, as the script says");
            }
            return did;
        }

        private boolean reply(MessageExt message) {
            try {
                replier.send(MessageUtil.createReplyMessage(message, answer.getBytes(StandardCharsets.UTF_8)));
                return true;
            } catch (Exception e) {
                // Seen by the tests as a failed delivery; the log tells why.
                e.printStackTrace();
                return false;
            }
        }

        @Override
        public void close() {
            consumer.shutdown();
            if (replier != null) {
                replier.shutdown();
            }
        }
    }
}
