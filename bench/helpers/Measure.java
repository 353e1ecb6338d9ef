import io.github.rocketmqtestkit.Isolation;
import io.github.rocketmqtestkit.RocketMQ;
import io.github.rocketmqtestkit.RocketMQTest;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/** Measures the steps of tests with the Java helper, and whole tests of Jupiter. Prints a line for each. */
public final class Measure {
    private static final int TESTS = 4;

    public static void main(String[] arguments) throws Exception {
        try (RocketMQ shared = step("process, start", () -> RocketMQ.start("orders"))) {
            for (int test = 1; test <= TESTS; test++) {
                String which = test == 1 ? "first test" : "later test";
                RocketMQ fork = step(which + ", fork", shared::fork);
                step(which + ", message sent and read", () -> {
                    fork.topic("orders").send("two teas");
                    return fork.topic("orders").texts();
                });
                step(which + ", end of the fork", () -> {
                    fork.close();
                    return null;
                });
            }
            for (int test = 1; test <= TESTS; test++) {
                step("reset instead of a fork", () -> {
                    shared.reset();
                    return null;
                });
            }
        }
        for (Class<?> tests : new Class<?>[] {Plain.class, Forked.class, Reset.class}) {
            LauncherFactory.create().execute(LauncherDiscoveryRequestBuilder.request()
                    .selectors(DiscoverySelectors.selectClass(tests)).build(), new Times(tests.getSimpleName()));
        }
    }

    /** Tests without an emulator. */
    static final class Plain {
        @RepeatedTest(TESTS)
        void test() {}
    }

    /** Tests with a fork each. */
    @RocketMQTest(topics = "orders")
    static final class Forked {
        @RepeatedTest(TESTS)
        void test(RocketMQ mq) {}
    }

    /** Tests that share an emulator. */
    @RocketMQTest(topics = "orders", isolation = Isolation.RESET)
    static final class Reset {
        @RepeatedTest(TESTS)
        void test(RocketMQ mq) {}
    }

    /** Prints the time of each test but the first of a class, which loads classes and starts the process. */
    private static final class Times implements TestExecutionListener {
        private final String name;
        private int tests;
        private Instants begin;

        Times(String name) {
            this.name = name;
        }

        @Override
        public void executionStarted(TestIdentifier identifier) {
            begin = new Instants();
        }

        @Override
        public void executionFinished(TestIdentifier identifier, TestExecutionResult result) {
            result.getThrowable().ifPresent(Throwable::printStackTrace);
            if (identifier.isTest() && ++tests > 1) {
                begin.print("Jupiter test, " + name);
            }
        }
    }

    private static <T> T step(String name, Callable<T> call) throws Exception {
        Instants begin = new Instants();
        T found = call.call();
        begin.print(name);
        return found;
    }

    /** The clocks at the begin of a step. */
    private static final class Instants {
        private final long wall = System.nanoTime();
        private final long processor = processor();

        void print(String step) {
            double ms = (System.nanoTime() - wall) / 1e6;
            double cpu = (processor() - processor) / 1e6;
            System.out.printf(Locale.ROOT, "{\"step\": \"%s\", \"ms\": %.3f, \"cpu_ms\": %.3f}%n", step, ms, cpu);
        }
    }

    /** Returns the processor time of this process and of its descendants in nanoseconds. */
    private static long processor() {
        return Stream.concat(Stream.of(ProcessHandle.current()), ProcessHandle.current().descendants())
                .mapToLong(process -> threads(Path.of("/proc", Long.toString(process.pid()), "task"))).sum();
    }

    private static long threads(Path folder) {
        try (Stream<Path> threads = Files.list(folder)) {
            return threads.mapToLong(Measure::thread).sum();
        } catch (IOException e) {
            return 0; // it has ended
        }
    }

    private static long thread(Path folder) {
        try {
            return Long.parseLong(Files.readString(folder.resolve("schedstat")).split(" ")[0]);
        } catch (IOException | UncheckedIOException e) {
            return 0; // it has ended
        }
    }
}
