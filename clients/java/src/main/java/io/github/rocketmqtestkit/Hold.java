package io.github.rocketmqtestkit;

import java.time.Duration;

/** The hold of an emulator by one test. Other holds wait until it is closed, or until this JVM ends. */
public final class Hold implements AutoCloseable {
    /** The longest time without a line. The emulator sends one every 15 s. */
    private static final Duration SILENCE_MAX = Duration.ofMinutes(2);

    private final Control control;
    private final String test;
    private final LastingResponse response;
    private final Duration waited;
    private boolean isClosed;

    /** Takes the response to a request for a hold. The connection of the response is the hold. */
    Hold(Control control, String test, LastingResponse response) {
        this.control = control;
        this.test = test;
        this.response = response;
        waited = Duration.ofMillis(new Fields(Json.readObject(response.first())).number("waited_ms"));
    }

    /** Returns how long the request waited for the test that held the emulator before, in real time. */
    public Duration waited() {
        return waited;
    }

    /** Throws HoldLostException if the hold was lost. */
    void check() {
        // The thread of the response may not have noticed yet that the emulator has ended just now.
        boolean responds = responds();
        if (!response.lasts(SILENCE_MAX) || !responds) {
            throw new HoldLostException(control.base(), test);
        }
    }

    /**
     * Ends the hold. A second call does nothing.
     *
     * @throws HoldLostException if the hold was lost before, because the emulator stopped or the connection was cut
     */
    @Override
    public synchronized void close() {
        if (isClosed) {
            return;
        }
        isClosed = true;
        try {
            check();
        } finally {
            response.close();
        }
    }

    private boolean responds() {
        try {
            control.ready();
            return true;
        } catch (RocketMQException e) {
            // A request of an interrupted thread is not sent.
            return Thread.currentThread().isInterrupted();
        }
    }
}
