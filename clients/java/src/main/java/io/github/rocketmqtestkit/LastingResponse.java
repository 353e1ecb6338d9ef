package io.github.rocketmqtestkit;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

/** A response that lasts until it is closed, such as that of a hold. A thread of its own notices its end. */
final class LastingResponse implements AutoCloseable {
    private final InputStream stream;
    private final BufferedReader lines;
    private final String first;
    private volatile boolean isOver;
    private volatile long lineAt = System.nanoTime();

    /** Reads the first line. Throws an exception if there is none. */
    LastingResponse(InputStream stream) {
        this.stream = stream;
        lines = new BufferedReader(new InputStreamReader(stream, StandardCharsets.UTF_8));
        try {
            first = lines.readLine();
        } catch (IOException e) {
            close();
            throw new UncheckedIOException(e);
        }
        if (first == null) {
            throw new RocketMQException("the emulator ended while a test waited for it; start it again");
        }
        Thread reader = new Thread(this::read, "rocketmq-testkit-hold");
        reader.setDaemon(true);
        reader.start();
    }

    String first() {
        return first;
    }

    /** Returns true if the response has not ended, and if its last line is not older than {@code silence}. */
    boolean lasts(Duration silence) {
        return !isOver && System.nanoTime() - lineAt <= silence.toNanos();
    }

    @Override
    public void close() {
        try {
            stream.close();
        } catch (IOException e) {
            // The connection is gone already.
        }
    }

    private void read() {
        try {
            while (lines.readLine() != null) {
                lineAt = System.nanoTime();
            }
        } catch (IOException e) {
            // The connection is gone.
        }
        isOver = true;
    }
}
