package io.github.rocketmqtestkit;

import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;

/** The emulators of this JVM, from which tests get forks, and those that are reset for each test. */
final class SharedEmulators {
    private static final SharedEmulators OF_THIS_JVM = new SharedEmulators();
    /** The longest wait for a test of another JVM. */
    private static final Duration LONGEST_WAIT = Duration.ofMinutes(1);
    /** The status of a refusal because another test holds the emulator. */
    private static final int HELD = 409;
    private static final int HOLDER_LENGTH_MAX = 200;

    private final Map<List<String>, RocketMQ> forked = new HashMap<>();
    private final Map<List<String>, Exclusive> exclusive = new HashMap<>();

    private SharedEmulators() {}

    /** Returns an emulator for a test, with its topics and rules. Closing it ends the test's use of it. */
    static RocketMQ open(TestSettings settings, String test) {
        String url = System.getenv(RocketMQ.CONTROL_VARIABLE);
        RocketMQ mq = url == null || url.isEmpty()
                ? OF_THIS_JVM.local(settings, test)
                : OF_THIS_JVM.sidecar(settings, test, url);
        try {
            mq.prepareBy(() -> {
                settings.topics.forEach(mq::createTopic);
                settings.faults.forEach(fault -> add(mq.control(), fault));
            });
            return mq;
        } catch (RuntimeException e) {
            endAfter(e, mq::close);
            throw e;
        }
    }

    private static void endAfter(RuntimeException failure, Runnable end) {
        try {
            end.run();
        } catch (RuntimeException e) {
            failure.addSuppressed(e);
        }
    }

    private RocketMQ local(TestSettings settings, String test) {
        if (settings.isolation == Isolation.RESET) {
            return exclusive(settings.commandArguments()).hold(test, "isolation=RESET",
                    "use Isolation.FORK, so that each test gets an emulator of its own", new ResetOptions());
        }
        return fork(settings);
    }

    private synchronized RocketMQ fork(TestSettings settings) {
        RocketMQ parent = forked.computeIfAbsent(settings.commandArguments(), SharedEmulators::start);
        if (settings.hasStart()) {
            // The clock of the parent has run since its start. A reset leaves its forks alone.
            parent.reset();
        }
        return parent.fork();
    }

    private synchronized Exclusive exclusive(List<String> arguments) {
        return exclusive.computeIfAbsent(arguments, words -> new Exclusive(start(words), false));
    }

    private RocketMQ sidecar(TestSettings settings, String test, String url) {
        String option = RocketMQ.CONTROL_VARIABLE + "=" + url;
        refuseArguments(settings, option);
        return sidecar(url).hold(test, option, "unset the variable, so that each test gets a fork", settings.reset());
    }

    /** Throws an exception for a test with options of the command. {@code option}: the variable and its value. */
    static void refuseArguments(TestSettings settings, String option) {
        if (!settings.arguments.isEmpty()) {
            throw new RocketMQException(option + ": the test has options of the command, "
                    + String.join(" ", settings.arguments) + ", which a running emulator does not take; start that "
                    + "emulator with them and remove them here, or unset the variable");
        }
    }

    private synchronized Exclusive sidecar(String url) {
        return exclusive.computeIfAbsent(List.of(url), word -> new Exclusive(RocketMQ.connect(url), true));
    }

    /** Waits until no test of another JVM holds an emulator. {@code option}: the variable and its value. */
    static Hold hold(RocketMQ emulator, String test, String option) {
        try {
            return emulator.hold(holder(test), LONGEST_WAIT);
        } catch (RocketMQException e) {
            if (e.isNotFound()) {
                throw new RocketMQException(option + ": the emulator is too old, because it cannot be held by one test at "
                        + "a time (POST /v1/hold); use a rocketmq-emulator of the version of this library", e);
            }
            if (e.status() == HELD) {
                throw new RocketMQException(option + ": " + e.getMessage() + "; this test has waited "
                        + LONGEST_WAIT.toSeconds() + " s", e);
            }
            throw e;
        }
    }

    /** Returns the name of a test for tests of other JVMs. */
    static String holder(String test) {
        String process = " (pid " + ProcessHandle.current().pid() + ")";
        return test.substring(0, Math.min(test.length(), HOLDER_LENGTH_MAX - process.length())) + process;
    }

    private static RocketMQ start(List<String> arguments) {
        return RocketMQ.start(new RocketMQ.Options().arguments(arguments.toArray(new String[0])));
    }

    private static void add(Control control, Fault fault) {
        Map<String, Object> body = new HashMap<>();
        if (fault.preset().isEmpty()) {
            Map<String, Object> criteria = new HashMap<>();
            Map.of("operation", fault.operation(), "topic", fault.topic(), "group", fault.group())
                    .forEach((name, value) -> {
                        if (!value.isEmpty()) {
                            criteria.put(name, value);
                        }
                    });
            body.put("when", criteria);
            body.put("then", fault.then().startsWith("{") ? Json.readObject(fault.then()) : fault.then());
            if (fault.times() != 0) {
                body.put("times", fault.times());
            }
        } else {
            body.put("preset", fault.preset());
        }
        control.post("/v1/faults", body);
    }

    /** An emulator that one test at a time holds. */
    private static final class Exclusive {
        private final RocketMQ emulator;
        private final boolean isSidecar;
        private final AtomicReference<String> holder = new AtomicReference<>();

        /** {@code isSidecar}: other JVMs may use the emulator at the same time, and tests wait for theirs. */
        Exclusive(RocketMQ emulator, boolean isSidecar) {
            this.emulator = emulator;
            this.isSidecar = isSidecar;
        }

        RocketMQ hold(String test, String option, String otherwise, ResetOptions reset) {
            String other = holder.compareAndExchange(null, test);
            if (other != null) {
                throw new RocketMQException(option + ": the test " + other + " holds the emulator, which is reset for "
                        + "each test; run one test at a time, or " + otherwise);
            }
            Hold[] ofAllJvms = {null};
            Runnable end = () -> {
                try {
                    if (ofAllJvms[0] != null) {
                        ofAllJvms[0].close();
                    }
                } finally {
                    holder.set(null);
                }
            };
            try {
                if (isSidecar) {
                    ofAllJvms[0] = SharedEmulators.hold(emulator, test, option);
                }
                emulator.reset(reset);
            } catch (RuntimeException e) {
                endAfter(e, end);
                throw e;
            }
            return emulator.ofTest(reset, ofAllJvms[0], end);
        }
    }
}
