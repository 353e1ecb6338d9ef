package testkit.driver.grpc;

import java.io.Closeable;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.rocketmq.client.apis.consumer.ConsumeResult;
import org.apache.rocketmq.client.apis.consumer.MessageListener;
import org.apache.rocketmq.client.apis.consumer.PushConsumer;
import org.apache.rocketmq.client.apis.consumer.PushConsumerBuilder;
import org.apache.rocketmq.client.apis.message.MessageView;
import testkit.driver.Command;

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
        Push push = new Push(command);
        PushConsumerBuilder builder = main.provider.newPushConsumerBuilder()
            .setClientConfiguration(main.configuration)
            .setConsumerGroup(command.text("group"))
            .setSubscriptionExpressions(Main.subscriptions(command))
            .setMessageListener(push);
        if (command.has("threads")) {
            builder.setConsumptionThreadCount((int) command.number("threads"));
        }
        push.consumer = builder.build();
        main.loop.keep(command, push);
        return Map.of();
    }

    /** A push consumer and the listener that decides by body and attempt. */
    private final class Push implements MessageListener, Closeable {
        final AtomicLong count = new AtomicLong();
        private final String name;
        private final Map<String, Long> failures;
        private final Map<String, Long> hangs;
        private final boolean quiet;
        private volatile PushConsumer consumer;

        Push(Command command) throws Exception {
            name = command.text("as");
            failures = command.counts("fail");
            hangs = command.counts("hang_ms");
            quiet = command.flag("quiet");
        }

        @Override
        public ConsumeResult consume(MessageView message) {
            long now = System.currentTimeMillis();
            count.incrementAndGet();
            String text = failures.isEmpty() && hangs.isEmpty() ? "" : Command.utf8(Messages.body(message));
            hang(hangs.getOrDefault(text, 0L));
            boolean ok = message.getDeliveryAttempt() > failures.getOrDefault(text, 0L);
            if (!quiet) {
                Map<String, Object> event = new LinkedHashMap<>();
                event.put("ev", "msg");
                event.put("of", name);
                event.put("t", now);
                event.put("ok", ok);
                event.put("msg", Messages.show(message, null));
                main.loop.emit(event);
            }
            return ok ? ConsumeResult.SUCCESS : ConsumeResult.FAILURE;
        }

        private void hang(long millis) {
            try {
                if (millis > 0) {
                    Thread.sleep(millis);
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }

        @Override
        public void close() throws IOException {
            consumer.close();
        }
    }
}
