package testkit.driver;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;

/** What the listener of a push consumer does, from the fields of its command. */
public final class Script {
    public static final String SUCCESS = "success";
    public static final String FAIL = "fail";
    public static final String THROW = "throw";
    public static final String SUSPEND = "suspend";

    /** Stands for every body that a map does not name. */
    static final String OTHERS = "*";

    /** How often the listener was called. */
    public final AtomicLong calls = new AtomicLong();

    private final Loop loop;
    private final String name;
    private final Map<String, Long> failures;
    private final Map<String, Long> throwing;
    private final Map<String, Long> suspending;
    private final Map<String, Long> hangs;
    private final boolean quiet;
    private final boolean begin;
    private final Map<String, Long> seen = new ConcurrentHashMap<>();

    public Script(Loop loop, Command command) throws Refusal {
        this.loop = loop;
        name = command.text("as");
        failures = command.counts("fail");
        throwing = command.counts("throw");
        suspending = command.counts("suspend");
        hangs = command.counts("hang_ms");
        quiet = command.flag("quiet");
        begin = command.flag("begin");
    }

    /** The start of a listener: tells that it was called, where the caller wants that, and returns the time. */
    public long begin(Supplier<Map<String, Object>> message) {
        long now = System.currentTimeMillis();
        calls.incrementAndGet();
        if (begin) {
            Map<String, Object> event = new LinkedHashMap<>();
            event.put("ev", "begin");
            event.put("of", name);
            event.put("t", now);
            event.put("msg", message.get());
            loop.emit(event);
        }
        return now;
    }

    /**
     * Hangs as long as the script says and returns what is to be done then. The attempt is the higher one of what the
     * SDK shows and what this listener has counted: another consumer of the group may have had the earlier attempts,
     * and local retries need not raise the number.
     */
    public String act(Object id, byte[] body, int attempt) {
        if (failures.isEmpty() && throwing.isEmpty() && suspending.isEmpty() && hangs.isEmpty()) {
            return SUCCESS;
        }
        String text = Command.utf8(body);
        hang(of(hangs, text));
        long reached = Math.max(seen.merge(id + "\0" + text, 1L, Long::sum), attempt);
        if (reached <= of(throwing, text)) {
            return THROW;
        }
        if (reached <= of(suspending, text)) {
            return SUSPEND;
        }
        return reached <= of(failures, text) ? FAIL : SUCCESS;
    }

    /** The end of a listener, just before its answer: tells what it did with the message that it was given at `time`. */
    public void tell(long time, String did, Supplier<Map<String, Object>> message) {
        if (quiet) {
            return;
        }
        Map<String, Object> event = new LinkedHashMap<>();
        event.put("ev", "msg");
        event.put("of", name);
        event.put("t", time);
        event.put("ok", did.equals(SUCCESS));
        event.put("did", did);
        event.put("msg", message.get());
        loop.emit(event);
    }

    private static long of(Map<String, Long> table, String text) {
        return table.getOrDefault(text, table.getOrDefault(OTHERS, 0L));
    }

    private static void hang(long millis) {
        try {
            if (millis > 0) {
                Thread.sleep(millis);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
