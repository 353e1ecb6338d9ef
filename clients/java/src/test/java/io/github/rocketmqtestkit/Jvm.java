package io.github.rocketmqtestkit;

import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.testkit.engine.EngineExecutionResults;
import org.junit.platform.testkit.engine.EngineTestKit;

/** Another JVM that runs a program with the variable of a running emulator. It cannot start one. */
final class Jvm implements AutoCloseable {
    final Process process;
    private final BufferedReader output;

    Jvm(String controlUrl, Class<?> program, String... arguments) throws IOException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-cp", System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
                program.getName()));
        command.addAll(List.of(arguments));
        ProcessBuilder builder = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT);
        builder.environment().put(RocketMQ.CONTROL_VARIABLE, controlUrl);
        builder.environment().put(RocketMQ.COMMAND_VARIABLE, "/nowhere");
        process = builder.start();
        output = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
    }

    /** Returns the next line that the program prints; null if it has ended. */
    String line() throws IOException {
        return output.readLine();
    }

    /** Lets the program continue that waits in {@link #pause}. */
    void resume() throws IOException {
        process.getOutputStream().write('\n');
        process.getOutputStream().flush();
    }

    /** Prints a line, and waits until the other JVM calls {@link #resume}. */
    static void pause(String line) throws IOException {
        System.out.println(line);
        System.in.read();
    }

    @Override
    public void close() {
        process.destroyForcibly();
    }

    /** A program that runs the tests of a class, as a build tool does, and prints two numbers and the failures. */
    static final class Suite {
        public static void main(String[] arguments) throws ClassNotFoundException {
            EngineTestKit.Builder kit = EngineTestKit.engine("junit-jupiter");
            for (String name : arguments) {
                kit.selectors(selectClass(Class.forName(name)));
            }
            EngineExecutionResults results = kit.execute();
            results.allEvents().failed().stream().forEach(System.err::println);
            System.out.println(results.testEvents().succeeded().count() + " passed, "
                    + results.allEvents().failed().count() + " failed");
            results.allEvents().failed().stream()
                    .map(event -> event.getRequiredPayload(TestExecutionResult.class).getThrowable().orElseThrow())
                    .forEach(System.out::println);
        }
    }
}
