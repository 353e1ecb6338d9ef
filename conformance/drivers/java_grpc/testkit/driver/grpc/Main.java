package testkit.driver.grpc;

import java.io.Closeable;
import java.io.InputStream;
import java.lang.reflect.Method;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.rocketmq.client.apis.ClientConfiguration;
import org.apache.rocketmq.client.apis.ClientConfigurationBuilder;
import org.apache.rocketmq.client.apis.ClientServiceProvider;
import org.apache.rocketmq.client.apis.StaticSessionCredentialsProvider;
import org.apache.rocketmq.client.apis.consumer.FilterExpression;
import org.apache.rocketmq.client.apis.consumer.FilterExpressionType;
import org.apache.rocketmq.client.apis.consumer.SimpleConsumer;
import org.apache.rocketmq.client.apis.message.MessageView;
import testkit.driver.Command;
import testkit.driver.Loop;
import testkit.driver.Options;
import testkit.driver.Refusal;

/** Driver of rocketmq-client-java (gRPC): start, `hello`, simple consumers and `close`; producers and push are beside it. */
public final class Main {
    static final List<String> MODES = List.of("concurrent", "orderly");

    private static final Method ENABLE_SSL =
        Newer.method(ClientConfigurationBuilder.class, "enableSsl", boolean.class);
    private static final Method SET_NAMESPACE =
        Newer.method(ClientConfigurationBuilder.class, "setNamespace", String.class);
    private static final Pattern CODE = Pattern.compile("response-code=(\\d+)");

    final ClientServiceProvider provider = ClientServiceProvider.loadService();
    final Loop loop = new Loop(Main::codeOf);
    private final Options options;

    private Main(Options options) {
        this.options = options;
    }

    /** Where and how the client of a command connects. */
    ClientConfiguration configuration(Command command) throws Exception {
        ClientConfigurationBuilder builder = ClientConfiguration.newBuilder().setEndpoints(options.text("endpoint"));
        // What lacks the switch, 5.0.4 and older, always encrypts.
        if (ENABLE_SSL != null) {
            ENABLE_SSL.invoke(builder, options.flag("tls"));
        }
        if (options.accessKey() != null) {
            builder.setCredentialProvider(
                new StaticSessionCredentialsProvider(options.accessKey(), options.secretKey()));
        }
        if (command.has("namespace")) {
            if (SET_NAMESPACE == null) {
                throw new Refusal("Unsupported", "this version of the SDK has no namespace");
            }
            SET_NAMESPACE.invoke(builder, command.text("namespace"));
        }
        return builder.build();
    }

    public static void main(String[] args) throws Exception {
        Main main = new Main(new Options(args));
        main.loop.verb("hello", command -> main.hello());
        new Producers(main).register();
        main.loop.verb("simple", main::simple);
        main.loop.verb("receive", main::receive);
        main.loop.verb("ack", main::ack);
        main.loop.verb("invisible", main::invisible);
        main.loop.verb("drain", main::drain);
        new Pushes(main).register();
        main.loop.verb("close", main::close);
        main.loop.serve();
    }

    private Map<String, Object> hello() throws Exception {
        Properties pom = new Properties();
        try (InputStream in = ClientServiceProvider.class.getResourceAsStream(
            "/META-INF/maven/org.apache.rocketmq/rocketmq-client-java/pom.properties")) {
            if (in != null) {
                pom.load(in);
            }
        }
        Map<String, Object> reply = new LinkedHashMap<>();
        reply.put("sdk", "org.apache.rocketmq:rocketmq-client-java");
        reply.put("version", pom.getProperty("version"));
        reply.put("language", "java");
        reply.put("protocol", "grpc");
        reply.put("protocol_version", 1);
        reply.put("verbs", loop.verbs());
        reply.put("modes", MODES);
        reply.put("outcomes", List.of("success", "fail", "hang", "throw"));
        reply.put("options", SET_NAMESPACE == null ? List.of() : List.of("namespace"));
        return reply;
    }

    private Map<String, Object> simple(Command command) throws Exception {
        loop.free(command);
        SimpleConsumer consumer = provider.newSimpleConsumerBuilder()
            .setClientConfiguration(configuration(command))
            .setConsumerGroup(command.text("group"))
            .setSubscriptionExpressions(subscriptions(command))
            .setAwaitDuration(Duration.ofMillis(command.number("await_ms", 5000L)))
            .build();
        loop.keep(command, consumer);
        return Map.of();
    }

    private Map<String, Object> receive(Command command) throws Exception {
        List<Object> messages = new ArrayList<>();
        for (MessageView message : receive(command, loop.on(command, SimpleConsumer.class))) {
            messages.add(Messages.show(message, loop.handle(message)));
        }
        return Map.of("messages", messages);
    }

    private static List<MessageView> receive(Command command, SimpleConsumer consumer) throws Exception {
        return consumer.receive(
            command.number("max", 32L).intValue(), Duration.ofMillis(command.number("invisible_ms", 30_000L)));
    }

    private Map<String, Object> ack(Command command) throws Exception {
        SimpleConsumer consumer = loop.on(command, SimpleConsumer.class);
        for (long handle : command.numbers("h")) {
            consumer.ack(loop.message(handle, MessageView.class));
        }
        return Map.of();
    }

    private Map<String, Object> invisible(Command command) throws Exception {
        SimpleConsumer consumer = loop.on(command, SimpleConsumer.class);
        Duration duration = Duration.ofMillis(command.number("ms"));
        for (long handle : command.numbers("h")) {
            consumer.changeInvisibleDuration(loop.message(handle, MessageView.class), duration);
        }
        return Map.of();
    }

    /** Receives and acknowledges from several threads until `count` messages are done or a receive comes back empty. */
    private Map<String, Object> drain(Command command) throws Exception {
        SimpleConsumer consumer = loop.on(command, SimpleConsumer.class);
        int count = (int) command.number("count");
        AtomicInteger done = new AtomicInteger();
        AtomicInteger errors = new AtomicInteger();
        // The last receives may wait for nothing; the rate ends with the last acknowledgement.
        AtomicLong lastAck = new AtomicLong(System.nanoTime());
        Runnable work = () -> {
            try {
                while (done.get() < count) {
                    List<MessageView> messages = receive(command, consumer);
                    if (messages.isEmpty()) {
                        return;
                    }
                    for (MessageView message : messages) {
                        consumer.ack(message);
                        done.incrementAndGet();
                        lastAck.set(System.nanoTime());
                    }
                }
            } catch (Exception e) {
                errors.incrementAndGet();
            }
        };
        Thread[] workers = new Thread[command.number("threads", 1L).intValue()];
        long begin = System.nanoTime();
        for (int t = 0; t < workers.length; t++) {
            workers[t] = new Thread(work, "driver-drain-" + t);
            workers[t].start();
        }
        for (Thread worker : workers) {
            worker.join();
        }
        double seconds = Math.max(lastAck.get() - begin, 1) / 1e9;
        return Map.of("count", done.get(), "errors", errors.get(),
            "per_second", Math.round(done.get() / seconds * 10) / 10.0);
    }

    private Map<String, Object> close(Command command) throws Exception {
        ((Closeable) loop.drop(command)).close();
        return Map.of();
    }

    static Map<String, FilterExpression> subscriptions(Command command) throws Exception {
        Map<String, FilterExpression> expressions = new LinkedHashMap<>();
        for (Map.Entry<String, Command> sub : command.table("sub").entrySet()) {
            FilterExpressionType type = FilterExpressionType.valueOf(sub.getValue().text("type", "TAG"));
            expressions.put(sub.getKey(), new FilterExpression(sub.getValue().text("expr", "*"), type));
        }
        return expressions;
    }

    /** The SDK keeps the code in its text only: `[request-id=..., response-code=40011] ...`. */
    private static Integer codeOf(Throwable error) {
        Matcher found = CODE.matcher(String.valueOf(error.getMessage()));
        return found.find() ? Integer.valueOf(found.group(1)) : null;
    }
}
