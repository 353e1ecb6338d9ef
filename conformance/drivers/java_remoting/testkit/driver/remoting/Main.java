package testkit.driver.remoting;

import java.io.Closeable;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.apache.rocketmq.client.ClientConfig;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.exception.RequestTimeoutException;
import org.apache.rocketmq.common.MQVersion;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.remoting.RPCHook;
import testkit.driver.Command;
import testkit.driver.Loop;
import testkit.driver.Options;

/** Driver of rocketmq-client (remoting): start, `hello`, `close`; producers, push and lite consumers are beside it. */
public final class Main {
    /** Shortest period, in milliseconds, of the client's own route, heartbeat and offset timers. */
    private static final int PERIOD_MS = 500;

    final Loop loop = new Loop(Main::codeOf);
    private final String namesrv;
    private final boolean slow;
    /** Signs requests; null where nobody asks for that. */
    final RPCHook signer;

    private Main(Options options) {
        namesrv = options.text("namesrv");
        slow = options.flag("slow");
        signer = options.accessKey() == null ? null : new Signer(options.accessKey(), options.secretKey());
        if (!slow) {
            // Read once, when the rebalance thread's class is loaded.
            System.setProperty("rocketmq.client.rebalance.waitInterval", "1000");
            System.setProperty("rocketmq.client.rebalance.minInterval", "500");
        }
        if (options.flag("tls")) {
            System.setProperty("tls.enable", "true");
            String ca = options.text("ca", "");
            if (!ca.isEmpty()) {
                System.setProperty("tls.test.mode.enable", "false");
                System.setProperty("tls.client.authServer", "true");
                System.setProperty("tls.client.trustCertPath", ca);
            }
        }
    }

    public static void main(String[] args) throws Exception {
        Main main = new Main(new Options(args));
        main.loop.verb("hello", command -> main.hello());
        new Producers(main).register();
        new Pushes(main).register();
        new Lites(main).register();
        new Admins(main).register();
        main.loop.verb("close", main::close);
        main.loop.serve();
    }

    private Map<String, Object> hello() {
        Map<String, Object> reply = new LinkedHashMap<>();
        reply.put("sdk", "org.apache.rocketmq:rocketmq-client");
        reply.put("version", MQVersion.getVersionDesc(MQVersion.CURRENT_VERSION).substring(1).replace('_', '.'));
        reply.put("language", "java");
        reply.put("protocol", "remoting");
        reply.put("protocol_version", 1);
        reply.put("verbs", loop.verbs());
        reply.put("modes", Old.method(DefaultMQPushConsumer.class, "setClientRebalance", boolean.class) == null
            ? List.of("concurrent", "orderly", "broadcast") : List.of("concurrent", "orderly", "broadcast", "pop"));
        reply.put("outcomes", List.of("success", "fail", "hang", "throw", "suspend"));
        reply.put("allocations", new ArrayList<>(Pushes.ALLOCATIONS.keySet()));
        List<String> options = new ArrayList<>(List.of("namespace", "unit_mode", "trace", "latency_fault"));
        if (Producers.COMPRESSES) {
            options.add("compress");
        }
        reply.put("options", options);
        return reply;
    }

    /** Gives a client its name server, an instance (connections) of its own and short periods. */
    <T extends ClientConfig> T prepare(T client, String name) {
        client.setNamesrvAddr(namesrv);
        client.setInstanceName(name + "-" + ProcessHandle.current().pid() + "-" + System.nanoTime());
        if (!slow) {
            client.setPollNameServerInterval(PERIOD_MS);
            client.setHeartbeatBrokerInterval(PERIOD_MS);
            client.setPersistConsumerOffsetInterval(PERIOD_MS);
        }
        return client;
    }

    /** The same for a client that a command describes. */
    @SuppressWarnings("deprecation") // The setter of the namespace that is part of names: 4.9.8 has no other.
    <T extends ClientConfig> T prepare(T client, Command command) throws Exception {
        prepare(client, command.text("as"));
        if (command.has("namespace")) {
            client.setNamespace(command.text("namespace"));
        }
        client.setUnitMode(command.flag("unit_mode"));
        return client;
    }

    private Map<String, Object> close(Command command) throws Exception {
        ((Closeable) loop.drop(command)).close();
        return Map.of();
    }

    /** Queues as the protocol shows them. */
    static List<Object> show(Collection<MessageQueue> queues) {
        List<Object> shown = new ArrayList<>();
        for (MessageQueue queue : new TreeSet<>(queues)) {
            shown.add(Map.of("topic", queue.getTopic(), "broker", queue.getBrokerName(), "queue", queue.getQueueId()));
        }
        return shown;
    }

    private static Integer codeOf(Throwable error) {
        if (error instanceof MQBrokerException) {
            return ((MQBrokerException) error).getResponseCode();
        }
        if (error instanceof RequestTimeoutException) {
            return ((RequestTimeoutException) error).getResponseCode();
        }
        return error instanceof MQClientException ? ((MQClientException) error).getResponseCode() : null;
    }
}
