package testkit.driver.grpc;

import java.io.Closeable;
import java.io.IOException;
import java.util.Map;
import java.util.function.Supplier;
import org.apache.rocketmq.client.apis.consumer.ConsumeResult;
import org.apache.rocketmq.client.apis.consumer.MessageListener;
import org.apache.rocketmq.client.apis.consumer.PushConsumer;
import org.apache.rocketmq.client.apis.consumer.PushConsumerBuilder;
import org.apache.rocketmq.client.apis.message.MessageView;
import testkit.driver.Command;
import testkit.driver.Refusal;
import testkit.driver.Script;

/** The verbs of push consumers. */
final class Pushes {
    private final Main main;

    Pushes(Main main) {
        this.main = main;
    }

    void register() {
        main.loop.verb("push", this::push);
        main.loop.verb("count", command -> Map.of("count", main.loop.on(command, Push.class).script.calls.get()));
    }

    private Map<String, Object> push(Command command) throws Exception {
        main.loop.free(command);
        if (command.has("suspend")) {
            throw new Refusal("Unsupported", "a listener of this SDK cannot suspend");
        }
        // The order of a gRPC push consumer comes from its group; the SDK has no switch for it.
        String mode = command.text("mode", "concurrent");
        if (!Main.MODES.contains(mode)) {
            throw new Refusal("Unsupported", "a gRPC push consumer has no mode " + mode);
        }
        Push push = new Push(new Script(main.loop, command));
        PushConsumerBuilder builder = main.provider.newPushConsumerBuilder()
            .setClientConfiguration(main.configuration(command))
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

    /** A push consumer and its listener. */
    private static final class Push implements MessageListener, Closeable {
        final Script script;
        private volatile PushConsumer consumer;

        Push(Script script) {
            this.script = script;
        }

        @Override
        public ConsumeResult consume(MessageView message) {
            Supplier<Map<String, Object>> shown = () -> Messages.show(message, null);
            long now = script.begin(shown);
            String did =
                script.act(message.getMessageId(), Messages.body(message), message.getDeliveryAttempt());
            script.tell(now, did, shown);
            if (did.equals(Script.THROW)) {
                throw new IllegalStateException("the listener throws, as the script says");
            }
            return did.equals(Script.SUCCESS) ? ConsumeResult.SUCCESS : ConsumeResult.FAILURE;
        }

        @Override
        public void close() throws IOException {
            consumer.close();
        }
    }
}
