package testkit.driver;

import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;

/** Reads commands, runs verbs, writes replies and events; keeps the named objects and the handles of messages. */
public final class Loop {
    /** One verb: fields in, the fields of the reply out. */
    public interface Verb {
        Map<String, Object> run(Command command) throws Exception;
    }

    /** Handles of a long run stay bounded: the oldest are forgotten beyond this number. */
    private static final int HANDLES_MAX = 100_000;

    private final OutputStream out = new FileOutputStream(FileDescriptor.out);
    private final Map<String, Verb> verbs = new LinkedHashMap<>();
    private final Map<String, Object> objects = new ConcurrentHashMap<>();
    private final Map<Long, Object> handles = new ConcurrentHashMap<>();
    private final AtomicLong lastHandle = new AtomicLong();
    private final Function<Throwable, Integer> codeOf;
    private final ExecutorService background = Executors.newCachedThreadPool(work -> {
        Thread thread = new Thread(work, "driver-background");
        thread.setDaemon(true);
        return thread;
    });

    /** `codeOf` finds the numeric code in an error of the SDK, or gives null. */
    public Loop(Function<Throwable, Integer> codeOf) {
        this.codeOf = codeOf;
        // Whatever a library prints must not land between the replies.
        System.setOut(System.err);
    }

    public void verb(String name, Verb verb) {
        verbs.put(name, verb);
    }

    /** The names of all verbs, as `hello` lists them. */
    public List<String> verbs() {
        List<String> names = new ArrayList<>(verbs.keySet());
        names.add("exit");
        return names;
    }

    /** Serves standard input until it ends or `exit` comes; never returns. */
    public void serve() throws IOException {
        BufferedReader in =
            new BufferedReader(new InputStreamReader(new FileInputStream(FileDescriptor.in), StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            if (!line.isBlank()) {
                accept(line);
            }
        }
        // Shutdown hooks of the SDKs would wait for long polls.
        Runtime.getRuntime().halt(0);
    }

    private void accept(String line) {
        Object number = null;
        try {
            Object value = Json.read(line);
            if (!(value instanceof Map)) {
                throw new Refusal("BadCommand", "a command is a JSON object");
            }
            @SuppressWarnings("unchecked") // Json makes no maps but those with text keys.
            Command command = new Command((Map<String, Object>) value);
            number = command.raw("i");
            String name = command.text("do");
            if (name.equals("exit")) {
                reply(number, 0.0, Map.of());
                Runtime.getRuntime().halt(0);
            }
            Verb verb = verbs.get(name);
            if (verb == null) {
                throw new Refusal("UnknownVerb", "this driver has no verb " + name);
            }
            if (command.flag("bg")) {
                Object i = number;
                background.execute(() -> run(i, verb, command));
            } else {
                run(number, verb, command);
            }
        } catch (Refusal refusal) {
            fail(number, refusal);
        }
    }

    private void run(Object number, Verb verb, Command command) {
        long begin = System.nanoTime();
        try {
            Map<String, Object> fields = verb.run(command);
            reply(number, (System.nanoTime() - begin) / 1000 / 1000.0, fields);
        } catch (Throwable error) {
            fail(number, error);
        }
    }

    private void reply(Object number, double millis, Map<String, Object> fields) {
        Map<String, Object> line = new LinkedHashMap<>();
        line.put("i", number);
        line.put("ok", true);
        line.put("ms", millis);
        line.putAll(fields);
        emit(line);
    }

    private void fail(Object number, Throwable thrown) {
        Throwable error = cause(thrown);
        Map<String, Object> line = new LinkedHashMap<>();
        line.put("i", number);
        line.put("ok", false);
        line.put("kind", error instanceof Refusal ? ((Refusal) error).kind : error.getClass().getSimpleName());
        line.put("code", error instanceof Refusal ? null : codeOf.apply(error));
        line.put("err", String.valueOf(error.getMessage()));
        emit(line);
    }

    private static Throwable cause(Throwable thrown) {
        Throwable error = thrown;
        while (error.getCause() != null && (error instanceof ExecutionException
            || error instanceof CompletionException || error instanceof InvocationTargetException)) {
            error = error.getCause();
        }
        return error;
    }

    /** Writes one event or reply as one line. */
    public void emit(Map<String, Object> line) {
        byte[] bytes = (Json.write(line) + "\n").getBytes(StandardCharsets.UTF_8);
        synchronized (out) {
            try {
                out.write(bytes);
                out.flush();
            } catch (IOException e) {
                // Nobody reads any more.
                Runtime.getRuntime().halt(1);
            }
        }
    }

    /** Keeps a new object under the name that the caller gave it. */
    public <T> T keep(Command command, T object) throws Refusal {
        if (objects.putIfAbsent(command.text("as"), object) != null) {
            throw new Refusal("BadCommand", "there is an object called " + command.text("as") + " already");
        }
        return object;
    }

    /** Refuses a name that is taken, before anything is started under it. */
    public void free(Command command) throws Refusal {
        if (objects.containsKey(command.text("as"))) {
            throw new Refusal("BadCommand", "there is an object called " + command.text("as") + " already");
        }
    }

    /** The object that the command is for. */
    public <T> T on(Command command, Class<T> type) throws Refusal {
        Object object = objects.get(command.text("on"));
        if (object == null) {
            throw new Refusal("UnknownObject", "nothing is called " + command.text("on"));
        }
        if (!type.isInstance(object)) {
            throw new Refusal("UnknownObject", command.text("on") + " has no verb " + command.text("do"));
        }
        return type.cast(object);
    }

    /** Forgets the object that the command is for and returns it. */
    public Object drop(Command command) throws Refusal {
        Object object = on(command, Object.class);
        objects.remove(command.text("on"));
        return object;
    }

    /** A new handle for a message. */
    public long handle(Object message) {
        long handle = lastHandle.incrementAndGet();
        handles.put(handle, message);
        handles.remove(handle - HANDLES_MAX);
        return handle;
    }

    /** The message that a handle was given out for. */
    public <T> T message(long handle, Class<T> type) throws Refusal {
        Object message = handles.get(handle);
        if (!type.isInstance(message)) {
            throw new Refusal("UnknownHandle", "no message has the handle " + handle);
        }
        return type.cast(message);
    }
}
