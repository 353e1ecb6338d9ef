package io.github.rocketmqtestkit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.Socket;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.platform.testkit.engine.EngineTestKit;

/** Emulators end with the JVM that has started them, in every way in which a test run can end. */
class EndTest {
    private static final int LIMIT_MILLIS = 2000;

    /**
     * A program that runs the tests of a class, as a build tool does. It prints the address of an emulator in a process
     * of its own, the address of the emulator of the test, and a line when the tests have ended. It ends when its standard
     * input ends.
     */
    static final class Program {
        public static void main(String[] arguments) throws ReflectiveOperationException, IOException {
            System.out.println(RocketMQ.start("orders").endpoint());
            long failed = EngineTestKit.engine("junit-jupiter").selectors(selectClass(Class.forName(arguments[0])))
                    .execute().testEvents().failed().count();
            System.out.println("failed: " + failed);
            System.in.readAllBytes();
            if (arguments[1].equals("throw")) {
                throw new IllegalStateException("the program fails");
            }
            if (arguments[1].equals("exit")) {
                System.exit(3);
            }
        }
    }

    @RocketMQTest(topics = "orders")
    static class Passing {
        @Test
        void passes(RocketMQ mq) throws IOException {
            announce(mq);
        }
    }

    @RocketMQTest(topics = "orders")
    static class Failing {
        @Test
        void fails(RocketMQ mq) throws IOException {
            announce(mq);
            throw new IllegalStateException("the test fails");
        }
    }

    @RocketMQTest(topics = "orders")
    static class Hanging {
        @Test
        @Timeout(value = 2, unit = TimeUnit.SECONDS)
        void hangs(RocketMQ mq) throws IOException, InterruptedException {
            announce(mq);
            Thread.sleep(TimeUnit.MINUTES.toMillis(5));
        }
    }

    /** Prints the address of an emulator, and waits until the parent has connected. */
    private static void announce(RocketMQ mq) throws IOException {
        System.out.println(mq.endpoint());
        assertEquals('c', System.in.read());
    }

    /** A running program, and connections to its emulators, which close when the emulators end. */
    private static final class Child implements AutoCloseable {
        final Process process;
        final BufferedReader output;
        final Socket own;
        final Socket fork;

        Child(Class<?> tests, String end) throws IOException {
            process = new ProcessBuilder(
                    Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                    "-cp", System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
                    Program.class.getName(), tests.getName(), end)
                    .redirectError(ProcessBuilder.Redirect.INHERIT).start();
            output = new BufferedReader(new InputStreamReader(process.getInputStream()));
            own = connect(output.readLine());
            fork = connect(output.readLine());
            process.getOutputStream().write('c');
            process.getOutputStream().flush();
        }

        private static Socket connect(String address) throws IOException {
            int colon = address.lastIndexOf(':');
            Socket socket = new Socket(address.substring(0, colon), Integer.parseInt(address.substring(colon + 1)));
            socket.setSoTimeout(LIMIT_MILLIS);
            return socket;
        }

        @Override
        public void close() throws IOException {
            process.destroyForcibly();
            own.close();
            fork.close();
        }
    }

    private static void assertEnded(Socket connection) throws IOException {
        connection.getInputStream().readAllBytes();
    }

    private static void assertEnds(Class<?> tests, String failed, String end, int code)
            throws IOException, InterruptedException {
        try (Child child = new Child(tests, end)) {
            assertEquals(failed, child.output.readLine());
            assertEnded(child.fork);
            assertTrue(child.process.isAlive());
            child.process.getOutputStream().close();
            assertEquals(code, child.process.waitFor());
            assertEnded(child.own);
        }
    }

    @Test
    void emulatorsEndWithAPassedTestAndWithTheReturnOfMain() throws IOException, InterruptedException {
        assertEnds(Passing.class, "failed: 0", "return", 0);
    }

    @Test
    void emulatorsEndWithAFailedTestAndWithAnExitCode() throws IOException, InterruptedException {
        assertEnds(Failing.class, "failed: 1", "exit", 3);
    }

    @Test
    void emulatorsEndWithATimedOutTestAndWithAnException() throws IOException, InterruptedException {
        assertEnds(Hanging.class, "failed: 1", "throw", 1);
    }

    @Test
    void emulatorsEndWithAKilledJvm() throws IOException, InterruptedException {
        try (Child child = new Child(Hanging.class, "return")) {
            child.process.destroyForcibly().waitFor();
            assertEnded(child.fork);
            assertEnded(child.own);
        }
    }
}
