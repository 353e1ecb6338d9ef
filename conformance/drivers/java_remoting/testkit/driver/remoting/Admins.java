package testkit.driver.remoting;

import java.io.Closeable;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.rocketmq.client.QueryResult;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.impl.MQAdminImpl;
import org.apache.rocketmq.client.impl.MQClientManager;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.message.MessageExt;
import testkit.driver.Command;

/** What every client of this SDK can do besides, as verbs of an admin, which is a producer that sends nothing. */
final class Admins {
    /** The topic whose brokers get a new one: all that create topics by themselves serve it. */
    private static final String KEY_TOPIC = "TBW102";
    private static final int QUEUES = 4;
    /** The client's response code for a query without a result, which it raises as an error. */
    private static final int NO_MESSAGE = 208;

    private final Main main;

    Admins(Main main) {
        this.main = main;
    }

    void register() {
        main.loop.verb("admin", this::admin);
        main.loop.verb("create_topic", this::createTopic);
        main.loop.verb("route", command ->
            Map.of("queues", Main.show(on(command).fetchPublishMessageQueues(command.text("topic")))));
        main.loop.verb("view", command ->
            Map.of("message", Messages.show(on(command).viewMessage(command.text("topic"), command.text("id")))));
        main.loop.verb("query", this::query);
    }

    private DefaultMQProducer on(Command command) throws Exception {
        return main.loop.on(command, Admin.class).producer;
    }

    private Map<String, Object> admin(Command command) throws Exception {
        main.loop.free(command);
        String name = command.text("as");
        DefaultMQProducer producer = new DefaultMQProducer(
            command.text("group", "driver-admin-" + name), main.signer);
        main.prepare(producer, name).start();
        main.loop.keep(command, new Admin(producer));
        return Map.of();
    }

    private Map<String, Object> createTopic(Command command) throws Exception {
        // The producer's own method has other parameters in each version, and calls this one.
        MQAdminImpl admin = MQClientManager.getInstance().getOrCreateMQClientInstance(on(command)).getMQAdminImpl();
        admin.createTopic(KEY_TOPIC, command.text("topic"), command.number("queues", (long) QUEUES).intValue());
        return Map.of();
    }

    private Map<String, Object> query(Command command) throws Exception {
        List<Object> messages = new ArrayList<>();
        try {
            QueryResult found = on(command).queryMessage(command.text("topic"), command.text("key"),
                command.number("max", 32L).intValue(), command.number("begin", 0L),
                command.number("end", Long.MAX_VALUE));
            for (MessageExt message : found.getMessageList()) {
                messages.add(Messages.show(message));
            }
        } catch (MQClientException e) {
            if (e.getResponseCode() != NO_MESSAGE) {
                throw e;
            }
        }
        return Map.of("messages", messages);
    }

    /** A started admin. */
    private static final class Admin implements Closeable {
        private final DefaultMQProducer producer;

        Admin(DefaultMQProducer producer) {
            this.producer = producer;
        }

        @Override
        public void close() {
            producer.shutdown();
        }
    }
}
