package io.github.rocketmqtestkit;

import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;

/**
 * A response that need not end. If no byte arrives for a while, a thread of its own checks that the emulator responds to
 * other requests. If it does not, the stream ends with an exception.
 */
final class WatchedStream extends InputStream {
    private final Control control;
    private final String request;
    private final InputStream response;
    private final Duration silence;
    private final Thread watch;
    private volatile long readAt = System.nanoTime();
    private volatile RocketMQException silent;

    WatchedStream(Control control, String request, InputStream response, Duration silence) {
        this.control = control;
        this.request = request;
        this.response = response;
        this.silence = silence;
        watch = new Thread(this::watch, "rocketmq-testkit-stream");
        watch.setDaemon(true);
        watch.start();
    }

    @Override
    public int read() throws IOException {
        byte[] one = new byte[1];
        return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] into, int offset, int length) throws IOException {
        int count = -1;
        try {
            count = response.read(into, offset, length);
            readAt = System.nanoTime();
        } finally {
            if (count < 0) {
                watch.interrupt();
            }
            if (silent != null) {
                throw silent;
            }
        }
        return count;
    }

    private void watch() {
        try {
            while (true) {
                long left = silence.toNanos() - (System.nanoTime() - readAt);
                if (left > 0) {
                    Thread.sleep(left / 1_000_000 + 1);
                } else if (control.responds()) {
                    Thread.sleep(silence.toMillis());
                } else if (System.nanoTime() - readAt >= silence.toNanos()) {
                    silent = control.silent(request, Duration.ofNanos(System.nanoTime() - readAt));
                    response.close();
                    return;
                }
            }
        } catch (InterruptedException e) {
            // The stream is closed.
        } catch (IOException e) {
            // The connection is gone already.
        }
    }

    @Override
    public void close() throws IOException {
        watch.interrupt();
        response.close();
    }
}
