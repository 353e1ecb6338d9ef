package io.github.rocketmqtestkit;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** The process of a rocketmq-emulator command. It ends with this JVM, even if the JVM is killed. */
final class Command {
    private static final String NAME = "rocketmq-emulator";
    private static final long READY_SECONDS = 60;
    private static final long STOP_SECONDS = 10;
    private static final int KEPT_ERRORS = 16_384;

    private final Process process;
    private final StringBuffer errors = new StringBuffer();
    private final Thread errorReader;

    private Command(Process process) {
        this.process = process;
        errorReader = daemon("rocketmq-emulator-errors", () -> keep(process.getErrorStream()));
    }

    /** A running command and the addresses of its ready line. */
    static final class Started {
        final Command command;
        final Addresses addresses;

        Started(Command command, Addresses addresses) {
            this.command = command;
            this.addresses = addresses;
        }
    }

    /** Starts the command on free ports and waits for its ready line. Throws RocketMQException. */
    static Started start(String path, List<String> arguments) {
        List<String> words = new ArrayList<>(find(path, System.getenv(RocketMQ.COMMAND_VARIABLE),
                System.getenv("PATH")));
        words.addAll(List.of("--exit-with-parent", "--profile", "fast", "--namesrv-port", "0", "--broker-port", "0",
                "--grpc-port", "0", "--control-port", "0"));
        words.addAll(arguments);
        Command command;
        try {
            // The command stops when its standard input closes: that happens when this JVM ends, in any way.
            command = new Command(new ProcessBuilder(words).start());
        } catch (IOException e) {
            throw new RocketMQException(words.get(0) + ": does not start: " + e.getMessage(), e);
        }
        try {
            return new Started(command, Addresses.of(new Fields(Json.readObject(command.readyLine()))));
        } catch (TimeoutException | IllegalArgumentException e) {
            command.process.destroyForcibly();
            throw new RocketMQException(String.join(" ", words) + ": has not become ready (" + e.getMessage() + "): "
                    + command.errors(), e);
        }
    }

    /** Stops the command and waits for its end. Throws RocketMQException if it ends with an error. */
    void stop() {
        try {
            process.getOutputStream().close();
        } catch (IOException e) {
            // It has ended already.
        }
        try {
            if (!process.waitFor(STOP_SECONDS, TimeUnit.SECONDS)) {
                process.destroyForcibly();
                throw new RocketMQException(NAME + ": has not stopped within " + STOP_SECONDS
                        + " s, and was killed; check that its process is not paused");
            }
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
            return;
        }
        if (process.exitValue() != 0) {
            throw new RocketMQException(NAME + ": ended with code " + process.exitValue() + ": " + errors());
        }
    }

    /** Returns the words that start the command: of the argument, the variable, PATH, or Python's module. */
    static List<String> find(String path, String variable, String folders) {
        if (path != null && !path.isEmpty()) {
            return executable("command", path);
        }
        String property = System.getProperty(RocketMQ.COMMAND_PROPERTY, "");
        if (!property.isEmpty()) {
            return executable(RocketMQ.COMMAND_PROPERTY, property);
        }
        if (variable != null && !variable.isEmpty()) {
            return executable(RocketMQ.COMMAND_VARIABLE, variable);
        }
        String found = onPath(NAME, folders);
        if (found != null) {
            return List.of(found);
        }
        for (String name : List.of("python3", "python")) {
            String python = onPath(name, folders);
            if (python != null && succeeds(python, "-c", "import rocketmq_testkit")) {
                return List.of(python, "-m", "rocketmq_testkit.fixtures.command");
            }
        }
        throw new RocketMQException(NAME + ": there is no such command; it is looked for in $"
                + RocketMQ.COMMAND_VARIABLE + ", in PATH, and as a package of python3; set "
                + RocketMQ.COMMAND_VARIABLE + " to its path, or " + RocketMQ.CONTROL_VARIABLE
                + " to the control port of a running emulator");
    }

    private static List<String> executable(String origin, String path) {
        Path file = Path.of(path);
        if (!Files.isExecutable(file) || Files.isDirectory(file)) {
            throw new RocketMQException(origin + "=" + path + ": is not a program; name the file " + NAME);
        }
        return List.of(path);
    }

    private static String onPath(String name, String folders) {
        for (String folder : (folders == null ? "" : folders).split(File.pathSeparator)) {
            for (String ending : List.of("", ".exe")) {
                Path file = Path.of(folder, name + ending);
                if (!folder.isEmpty() && Files.isExecutable(file) && !Files.isDirectory(file)) {
                    return file.toString();
                }
            }
        }
        return null;
    }

    private static boolean succeeds(String... words) {
        try {
            Process process = new ProcessBuilder(words).redirectErrorStream(true).start();
            process.getInputStream().readAllBytes();
            return process.waitFor() == 0;
        } catch (IOException e) {
            return false;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    private String readyLine() throws TimeoutException {
        CompletableFuture<String> line = new CompletableFuture<>();
        daemon("rocketmq-emulator-output", () -> {
            try (BufferedReader output = reader(process.getInputStream())) {
                line.complete(output.readLine());
                while (output.readLine() != null) {
                    // A full pipe would block the command.
                }
            } catch (IOException e) {
                line.complete(null);
            }
        });
        try {
            String first = line.get(READY_SECONDS, TimeUnit.SECONDS);
            if (first == null) {
                throw new IllegalArgumentException(ending());
            }
            return first;
        } catch (ExecutionException e) {
            throw new IllegalStateException(e);
        } catch (TimeoutException e) {
            throw new TimeoutException("no line within " + READY_SECONDS + " seconds");
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new TimeoutException("the thread was interrupted");
        }
    }

    /** Returns the end of a command whose standard output has ended, as a clause. */
    private String ending() throws InterruptedException {
        boolean hasEnded = process.waitFor(STOP_SECONDS, TimeUnit.SECONDS);
        return hasEnded ? "it ended with code " + process.exitValue() : "it has closed its standard output";
    }

    private void keep(InputStream stream) {
        try (BufferedReader lines = reader(stream)) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                errors.append(line).append('\n');
                if (errors.length() > KEPT_ERRORS) {
                    errors.delete(0, errors.length() - KEPT_ERRORS);
                }
            }
        } catch (IOException e) {
            // The command has ended.
        }
    }

    private String errors() {
        try {
            errorReader.join(TimeUnit.SECONDS.toMillis(STOP_SECONDS));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return errors.toString().strip();
    }

    private static BufferedReader reader(InputStream stream) {
        return new BufferedReader(new InputStreamReader(stream, StandardCharsets.UTF_8));
    }

    private static Thread daemon(String name, Runnable work) {
        Thread thread = new Thread(work, name);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }
}
