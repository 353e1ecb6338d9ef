package io.github.rocketmqtestkit;

import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A running emulator of Apache RocketMQ: name server, broker and gRPC proxy.
 *
 * <p>{@link RocketMQTest} gives one to each test of JUnit 5. Without JUnit, {@link #start} starts one and
 * {@link #connect} uses one that runs.
 */
public final class RocketMQ implements AutoCloseable {
    /** The environment variable with the path of the command rocketmq-emulator. */
    public static final String COMMAND_VARIABLE = "ROCKETMQ_EMULATOR";
    /** The system property with the path of the command. It comes before the environment variable. */
    public static final String COMMAND_PROPERTY = "rocketmq.emulator";
    /**
     * The environment variable with the control port of a running emulator, such as http://127.0.0.1:8090. With it no
     * command is started.
     */
    public static final String CONTROL_VARIABLE = "ROCKETMQ_CONTROL_URL";
    /** The environment variable with the token of that control port, if it requires one. */
    public static final String TOKEN_VARIABLE = "ROCKETMQ_CONTROL_TOKEN";

    /** How much longer than its wait a request for a hold may take. */
    private static final Duration HOLD_ANSWER_MAX = Duration.ofSeconds(10);

    private final Addresses addresses;
    private final Control control;
    private final Clock clock;
    private final Faults faults;
    private Runnable release;
    private Runnable prepare = () -> { };
    /** Options of each reset that does not set them. */
    private ResetOptions resetDefaults = new ResetOptions();
    /** The hold of a test; null if there is none. */
    private Hold hold;

    RocketMQ(Addresses addresses, String token, Runnable release) {
        this.addresses = addresses;
        this.release = release;
        control = new Control(addresses.control, token);
        clock = new Clock(control);
        faults = new Faults(control);
    }

    /** Options of {@link #start}. Methods change them and return them. */
    public static final class Options {
        private final List<String> arguments = new ArrayList<>();
        private String command = "";

        /** Adds topics: NAME, NAME:TYPE or NAME:TYPE:QUEUES. TYPE is NORMAL, FIFO, DELAY, TRANSACTION or MIXED. */
        public Options topics(String... topics) {
            for (String topic : topics) {
                arguments("--topic", topic);
            }
            return this;
        }

        /** Sets the path of rocketmq-emulator. Without it, the variables and PATH name the command. */
        public Options command(String path) {
            command = path;
            return this;
        }

        /** Adds options of the command, such as {@code "--brokers", "2"}. */
        public Options arguments(String... words) {
            arguments.addAll(List.of(words));
            return this;
        }
    }

    /**
     * Starts an emulator in a process of its own, with topics as {@link Options#topics} writes them. It ends with
     * {@link #close}, or with this JVM.
     */
    public static RocketMQ start(String... topics) {
        return start(new Options().topics(topics));
    }

    /**
     * Starts an emulator in a process of its own. It ends with {@link #close}, or with this JVM.
     *
     * @throws RocketMQException if there is no command, or it does not become ready
     */
    public static RocketMQ start(Options options) {
        Command.Started started = Command.start(options.command, options.arguments);
        return new RocketMQ(started.addresses, tokenOfEnvironment(), started.command::stop);
    }

    /**
     * Returns the emulator with this control port. {@link #close} leaves it running. If the control port is on another
     * host, the other addresses name that host as well, unless the emulator advertises addresses.
     *
     * @throws RocketMQException if it does not respond
     */
    public static RocketMQ connect(String controlUrl) {
        return connect(controlUrl, tokenOfEnvironment());
    }

    /** Returns the emulator with this control port, which requires a token. */
    public static RocketMQ connect(String controlUrl, String token) {
        URI url = parsed(controlUrl);
        Fields ready = new Control(controlUrl, token).ready();
        return new RocketMQ(Addresses.seenFrom(url, ready), token, () -> { });
    }

    /**
     * Returns an emulator for a test that JUnit does not know, as {@link RocketMQTest} does: a fork of the process that
     * the tests of this JVM share, or the emulator of {@link #CONTROL_VARIABLE}, which is reset. {@link #close} ends the
     * fork, or lets another test have that emulator.
     *
     * @param test the name of the test in the error of another test at the same time
     */
    public static RocketMQ forTest(String test, String... topics) {
        TestSettings settings = new TestSettings();
        settings.topics.addAll(List.of(topics));
        return SharedEmulators.open(settings, test);
    }

    private static URI parsed(String controlUrl) {
        try {
            URI url = URI.create(controlUrl);
            if (url.getHost() != null && url.getScheme() != null && url.getScheme().startsWith("http")) {
                return url;
            }
        } catch (IllegalArgumentException e) {
            // The error below has the text.
        }
        throw new RocketMQException("control URL=" + controlUrl + ": is not a URL; it is the control port of an "
                + "emulator; use http://127.0.0.1:8090");
    }

    private static String tokenOfEnvironment() {
        String token = System.getenv(TOKEN_VARIABLE);
        return token == null ? "" : token;
    }

    /**
     * Returns this emulator with the addresses at which clients reach it, such as those of mapped ports of a container.
     * Routes of both protocols name them from now on, also after {@link #reset()}. Call it before clients connect.
     *
     * @param broker the address of the first broker
     */
    public RocketMQ mapped(String nameServer, String broker, String endpoint) {
        RocketMQ mapped = new RocketMQ(addresses.mapped(nameServer, broker, endpoint), control.token(), release);
        mapped.prepare = prepare;
        mapped.resetDefaults = resetDefaults;
        mapped.hold = hold;
        mapped.prepareBy(() -> {
            mapped.advertise(brokers().list().get(0).name(), broker);
            mapped.advertise("endpoint", endpoint);
        });
        return mapped;
    }

    /**
     * Changes the address of a server in routes of both protocols: {@code endpoint} for the gRPC proxy, {@code broker-a}
     * for a master, {@code broker-a:1} for a slave. Null restores the default. Only routes that clients read later have
     * it.
     */
    public void advertise(String server, String address) {
        Map<String, Object> body = new LinkedHashMap<>();
        body.put("server", server);
        body.put("address", address);
        control.post("/v1/advertise", body);
    }

    /** Runs an action that prepares the emulator, such as by topics and rules, now and after each reset. */
    void prepareBy(Runnable preparation) {
        Runnable earlier = prepare;
        prepare = () -> {
            earlier.run();
            preparation.run();
        };
        preparation.run();
    }

    /** Returns the same emulator for a test, which resets it with these options, and whose end is an action. */
    RocketMQ ofTest(ResetOptions reset, Hold ofTest, Runnable end) {
        RocketMQ other = new RocketMQ(addresses, control.token(), end);
        other.prepare = prepare;
        other.resetDefaults = reset;
        other.hold = ofTest;
        return other;
    }

    /** Returns the address for SDKs of the gRPC protocol, such as 127.0.0.1:8081. */
    public String endpoint() {
        return addresses.endpoint;
    }

    /** Returns the address for SDKs of the remoting protocol, such as 127.0.0.1:9876. */
    public String nameServer() {
        return addresses.nameServer;
    }

    /** Returns the address of the first broker. */
    public String broker() {
        return addresses.broker;
    }

    /** Returns the address of the control port. */
    public String controlUrl() {
        return control.base();
    }

    /** Returns the control port, for verbs that have no method here. */
    public Control control() {
        return control;
    }

    /** Returns the clock. */
    public Clock clock() {
        return clock;
    }

    /** Returns the rules of faults. */
    public Faults faults() {
        return faults;
    }

    /** Returns a topic, which has to exist when it is used. */
    public Topic topic(String name) {
        return new Topic(control, name);
    }

    /** Returns a consumer group. */
    public Group group(String name) {
        return new Group(control, name, null);
    }

    /** Returns the messages in the dead letter queue of a group. */
    public StoredMessages dlq(String group) {
        return group(group).dlq();
    }

    /** Returns the messages in the retry topics of a group, one for each redelivery. */
    public List<Message> retryMessages(String group) {
        return group(group).retryMessages();
    }

    /** Returns a message by its id, its offset id or a key, for assertions. */
    public Messages message(String idOrKey) {
        return new Messages(control, Map.of("message", idOrKey));
    }

    /** Creates a topic: NAME, NAME:TYPE or NAME:TYPE:QUEUES. TYPE is NORMAL, FIFO, DELAY, TRANSACTION or MIXED. */
    public Topic createTopic(String topic) {
        return createTopic(NewTopic.parsed(topic));
    }

    /** Creates a topic, or changes the given fields of an existing one. */
    public Topic createTopic(NewTopic topic) {
        return topic(control.write("/v1/topics", topic.form()).text("name"));
    }

    /** Returns the configuration of the topics, by name. */
    public List<TopicInfo> topics() {
        return topics(false);
    }

    /** Returns the configuration of the topics, on request also of those of the brokers themselves. */
    public List<TopicInfo> topics(boolean system) {
        return control.read("/v1/topics" + (system ? "?system=true" : "")).list("topics", TopicInfo::new);
    }

    /** Returns the configuration of the consumer groups, by name. */
    public List<GroupInfo> groups() {
        return groups(false);
    }

    /** Returns the configuration of the groups, on request also of those that brokers create at their start. */
    public List<GroupInfo> groups(boolean system) {
        return control.read("/v1/groups" + (system ? "?system=true" : "")).list("groups", GroupInfo::new);
    }

    /** Returns the connected clients: producers, then consumers, then clients that only the proxy knows. */
    public List<ClientInfo> clients() {
        return control.read("/v1/clients").list("clients", ClientInfo::new);
    }

    /** Explains why a client is idle, or says that it is not idle. */
    public IdleExplanation explainClient(String client) {
        return new IdleExplanation(control.read("/v1/clients/" + Control.encoded(client) + "/explain"));
    }

    /**
     * Creates a user on all running masters, or replaces the password and all rights of an existing one. The masters must
     * keep users: set their configuration keys when the command starts.
     */
    public void putUser(User user) {
        control.post("/v1/users", user.form());
    }

    /** Returns the lists of everything that the emulator holds. */
    public Inspection inspect() {
        return new Inspection(control);
    }

    /** Returns the requests of clients and their outcomes. */
    public Journal journal() {
        return new Journal(control);
    }

    /** Returns the kept states, to which the emulator can return. */
    public Snapshots snapshots() {
        return new Snapshots(control);
    }

    /** Returns the half messages whose transactions are not decided. */
    public List<Message> halfMessages() {
        return Message.listOf(control.read("/v1/transactions/half"));
    }

    /** Returns the half messages that brokers discarded after the last check. */
    public List<Message> discardedMessages() {
        return Message.listOf(control.read("/v1/transactions/discarded"));
    }

    /** Returns the metrics of the emulator in the text format of Prometheus. */
    public String metrics() {
        return control.text("/metrics");
    }

    /** Returns counters of receives since the start, and the number of receives in progress. */
    public ReceiveMetrics receiveMetrics() {
        return new ReceiveMetrics(control.read("/v1/receive-metrics").object("receive"));
    }

    /** Returns the certificate, in PEM, that clients trust if the emulator uses TLS. */
    public String certificateAuthority() {
        return control.text("/v1/ca");
    }

    /** Returns the brokers, to stop, start and configure them. */
    public Brokers brokers() {
        return new Brokers(control);
    }

    /** Ends the registrations of a client as if it had been silent for two minutes. */
    public void expireClient(String client) {
        control.post("/v1/clients/expire", Map.of("client", client));
    }

    /** Says what became of a message for all groups. The message is named by its id, its offset id or a key. */
    public Explanation explain(String message) {
        return explain(message, null, null);
    }

    /** Says what became of a message for a group, and why. */
    public Explanation explain(String message, String group) {
        return explain(message, group, null);
    }

    /**
     * Says what became of a message for a group, and why.
     *
     * @param group null for all groups
     * @param topic the topic, if messages of several topics have the key; null otherwise
     */
    public Explanation explain(String message, String group, String topic) {
        return new Explanation(control.read(
                Control.with("/v1/explain/" + Control.encoded(message), "group", group, "topic", topic)));
    }

    /** Returns every step of a message, which is named by its id, its offset id or a key. */
    public History history(String message) {
        return history(message, null, null);
    }

    /**
     * Returns the steps of a message.
     *
     * @param group the group whose steps are returned, without those of other groups; null for the steps of all groups
     * @param topic the topic, if messages of several topics have the key; null otherwise
     */
    public History history(String message, String group, String topic) {
        return new History(control.read(
                Control.with("/v1/history/" + Control.encoded(message), "group", group, "topic", topic)));
    }

    /** Returns probable mistakes of clients, such as members of a group that subscribe differently. */
    public List<Warning> warnings() {
        return control.read("/v1/warnings").list("warnings", Warning::new);
    }

    /**
     * Waits until a producer has registered. Before that the broker cannot send it transaction checks.
     *
     * @param name the group of a remoting producer, or the topic of a gRPC producer
     * @param timeout the longest wait, in real time
     */
    public void waitForProducer(String name, Duration timeout) {
        control.post("/v1/wait/producer", Map.of("name", name, "timeout", Fields.duration(timeout)));
    }

    /** Holds if no request of a client was refused, apart from codes that SDKs expect. */
    public void assertNoErrors() {
        control.post("/v1/assertions/no_errors", Map.of());
    }

    /** Returns the explanations and histories of messages that not every group has acknowledged. */
    public String report() {
        return Report.of(this);
    }

    /**
     * Holds the emulator, so that tests of several JVMs that reset it run one after another. It excludes other holds, and
     * nothing else: a fork has its own hold, and a reset needs none. {@link RocketMQTest} does it for each test that uses
     * the emulator of {@link #CONTROL_VARIABLE}.
     *
     * @param test the name of the test in the error of another one, 1 to 200 characters
     * @param timeout the longest wait for another hold, in real time; zero does not wait
     * @throws RocketMQException if the emulator is still held after the timeout, or does not respond
     */
    public Hold hold(String test, Duration timeout) {
        Map<String, String> body = Map.of("name", test, "timeout", Fields.duration(timeout));
        return new Hold(control, test, control.lasting("POST", "/v1/hold", body, timeout.plus(HOLD_ANSWER_MAX)));
    }

    /**
     * Checks that the emulator has been held for the test without an interruption. It does nothing for an emulator that no
     * test shares. {@link RocketMQTest} does it after each test.
     *
     * @throws HoldLostException if the hold was lost, because the emulator stopped or the connection was cut
     */
    public void requireHold() {
        if (hold != null) {
            hold.check();
        }
    }

    /**
     * Starts another emulator with the state of this one, on ports of its own in the same process. It ends with
     * {@link #close}, or with this emulator.
     */
    public RocketMQ fork() {
        return fork(new ForkOptions());
    }

    /** Starts another emulator as {@link #fork()} does, with options. */
    public RocketMQ fork(ForkOptions options) {
        Fields fork = control.write("/v1/forks", options.form());
        String path = "/v1/forks/" + Control.encoded(fork.text("id"));
        return new RocketMQ(Addresses.of(fork), control.token(), () -> control.delete(path));
    }

    /** Returns the running forks of this emulator, oldest first. */
    public List<ForkInfo> forks() {
        return control.read("/v1/forks").list("forks", ForkInfo::new);
    }

    /**
     * Returns to the instant after the start, or in a test to the beginning of the test. Connections of clients close.
     */
    public void reset() {
        reset(new ResetOptions());
    }

    /** Resets as {@link #reset()} does, and leaves clients connected. */
    public void resetKeepingConnections() {
        reset(new ResetOptions().keepConnections());
    }

    /** Resets as {@link #reset()} does, with options. */
    public void reset(ResetOptions options) {
        control.post("/v1/reset", options.form(resetDefaults));
        prepare.run();
    }

    /** Stops the emulator. A second call does nothing. */
    @Override
    public synchronized void close() {
        Runnable end = release;
        release = () -> { };
        end.run();
    }
}
