package testkit.driver.remoting;

import java.io.Closeable;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.MessageSelector;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.utils.MessageUtil;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.MessageExt;
import testkit.driver.Command;
import testkit.driver.Refusal;

/** The verbs of push consumers. */
final class Pushes {
    private final Main main;

    Pushes(Main main) {
        this.main = main;
    }

    void register() {
        main.loop.verb("push", this::push);
        main.loop.verb("count", command -> Map.of("count", main.loop.on(command, Push.class).count.get()));
    }

    private Map<String, Object> push(Command command) throws Exception {
        main.loop.free(command);
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(command.text("group"));
        main.prepare(consumer, command.text("as"));
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
        for (Map.Entry<String, Command> sub : command.table("sub").entrySet()) {
            consumer.subscribe(sub.getKey(), selector(sub.getValue()));
        }
        Push push = new Push(command, consumer);
        String mode = command.text("mode", "concurrent");
        switch (mode) {
            case "orderly":
                consumer.registerMessageListener((MessageListenerOrderly) (messages, context) ->
                    push.consume(messages.get(0))
                        ? ConsumeOrderlyStatus.SUCCESS : ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT);
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

    private static java.lang.reflect.Method method(String mode) throws Refusal {
        java.lang.reflect.Method setter =
            Old.method(DefaultMQPushConsumer.class, "setClientRebalance", boolean.class);
        if (setter == null) {
            throw new Refusal("BadCommand", "this SDK has no push mode " + mode);
        }
        return setter;
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

    /** A push consumer and the decisions of its listener, by body and attempt. */
    private final class Push implements Closeable {
        final AtomicLong count = new AtomicLong();
        private final DefaultMQPushConsumer consumer;
        private final String name;
        private final Map<String, Long> failures;
        private final Map<String, Long> hangs;
        private final String answer;
        private final boolean quiet;
        private DefaultMQProducer replier;

        Push(Command command, DefaultMQPushConsumer consumer) throws Exception {
            this.consumer = consumer;
            name = command.text("as");
            failures = command.counts("fail");
            hangs = command.counts("hang_ms");
            answer = command.text("answer", null);
            quiet = command.flag("quiet");
            if (answer != null) {
                replier = new DefaultMQProducer("driver-replier-" + name);
                main.prepare(replier, name + "-replier").start();
            }
        }

        void concurrent() {
            consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) ->
                consume(messages.get(0))
                    ? ConsumeConcurrentlyStatus.CONSUME_SUCCESS : ConsumeConcurrentlyStatus.RECONSUME_LATER);
        }

        boolean consume(MessageExt message) {
            long now = System.currentTimeMillis();
            count.incrementAndGet();
            String text = failures.isEmpty() && hangs.isEmpty() ? "" : Command.utf8(message.getBody());
            boolean ok = message.getReconsumeTimes() >= failures.getOrDefault(text, 0L);
            try {
                if (hangs.containsKey(text)) {
                    Thread.sleep(hangs.get(text));
                }
                if (answer != null && message.getProperty("REPLY_TO_CLIENT") != null) {
                    byte[] body = answer.getBytes(StandardCharsets.UTF_8);
                    replier.send(MessageUtil.createReplyMessage(message, body));
                }
            } catch (Exception e) {
                // Seen by the tests as a failed delivery; the log tells why.
                e.printStackTrace();
                ok = false;
            }
            if (!quiet) {
                Map<String, Object> event = new LinkedHashMap<>();
                event.put("ev", "msg");
                event.put("of", name);
                event.put("t", now);
                event.put("ok", ok);
                event.put("msg", Messages.show(message));
                main.loop.emit(event);
            }
            return ok;
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
