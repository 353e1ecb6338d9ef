package io.github.rocketmqtestkit;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

/** The hold of an emulator by one test. Other holds wait until it is closed, or until this JVM ends. */
public final class Hold implements AutoCloseable {
    private final InputStream stream;
    private final Duration waited;

    /** Reads the first line of the response, and keeps the connection, which is the hold. */
    Hold(InputStream stream) {
        this.stream = stream;
        try {
            String line = new BufferedReader(new InputStreamReader(stream, StandardCharsets.UTF_8)).readLine();
            if (line == null) {
                throw new RocketMQException("the emulator ended while a test waited for it; start it again");
            }
            waited = Duration.ofMillis(new Fields(Json.readObject(line)).number("waited_ms"));
        } catch (IOException e) {
            close();
            throw new UncheckedIOException(e);
        }
    }

    /** Returns how long the request waited for the test that held the emulator before, in real time. */
    public Duration waited() {
        return waited;
    }

    /** Ends the hold. */
    @Override
    public void close() {
        try {
            stream.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
