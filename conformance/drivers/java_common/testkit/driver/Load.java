package testkit.driver;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

/** `send_many`: the same send from several threads, with its rate and latencies. */
public final class Load {
    /** Sends one message; `key` is null when the command wants none. */
    public interface Send {
        void send(byte[] body, String key) throws Exception;
    }

    private Load() {
    }

    public static Map<String, Object> run(Command command, Send send) throws Exception {
        int count = (int) command.number("count");
        int threads = command.number("threads", 1L).intValue();
        byte[] stem = command.has("body") ? command.bytes("body") : null;
        int size = command.number("size", 1024L).intValue();
        String prefix = command.text("keys_prefix", null);
        long[] nanos = new long[count];
        AtomicInteger next = new AtomicInteger();
        AtomicInteger errors = new AtomicInteger();
        AtomicReference<Throwable> firstError = new AtomicReference<>();
        Runnable work = () -> {
            for (int n = next.getAndIncrement(); n < count; n = next.getAndIncrement()) {
                long begin = System.nanoTime();
                try {
                    send.send(body(stem, size, n), prefix == null ? null : prefix + n);
                } catch (Exception e) {
                    errors.incrementAndGet();
                    firstError.compareAndSet(null, e);
                }
                nanos[n] = System.nanoTime() - begin;
            }
        };
        Thread[] workers = new Thread[threads];
        long begin = System.nanoTime();
        for (int t = 0; t < threads; t++) {
            workers[t] = new Thread(work, "driver-load-" + t);
            workers[t].start();
        }
        for (Thread worker : workers) {
            worker.join();
        }
        double seconds = (System.nanoTime() - begin) / 1e9;
        Arrays.sort(nanos);
        Map<String, Object> reply = new LinkedHashMap<>();
        reply.put("count", count);
        reply.put("errors", errors.get());
        reply.put("first_error", firstError.get() == null ? null : firstError.get().toString());
        reply.put("per_second", Math.round(count / seconds * 10) / 10.0);
        reply.put("p50_ms", count == 0 ? null : nanos[count / 2] / 1e6);
        reply.put("p99_ms", count == 0 ? null : nanos[Math.min(count - 1, count * 99 / 100)] / 1e6);
        return reply;
    }

    private static byte[] body(byte[] stem, int size, int n) {
        byte[] end = ("-" + n).getBytes(StandardCharsets.UTF_8);
        byte[] body;
        if (stem == null) {
            body = new byte[Math.max(size, end.length)];
            Arrays.fill(body, (byte) 'x');
        } else {
            body = Arrays.copyOf(stem, stem.length + end.length);
        }
        System.arraycopy(end, 0, body, body.length - end.length, end.length);
        return body;
    }
}
