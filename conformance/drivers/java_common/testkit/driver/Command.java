package testkit.driver;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The fields of one command (or of one message in it), read with the type that the verb expects. */
public final class Command {
    private final Map<String, Object> fields;

    Command(Map<String, Object> fields) {
        this.fields = fields;
    }

    /** The value as it was sent, null when it is absent. */
    public Object raw(String name) {
        return fields.get(name);
    }

    public boolean has(String name) {
        return fields.get(name) != null;
    }

    public String text(String name) throws Refusal {
        return required(name, text(name, null));
    }

    public String text(String name, String otherwise) throws Refusal {
        return typed(name, String.class, otherwise);
    }

    public long number(String name) throws Refusal {
        return required(name, number(name, null));
    }

    public Long number(String name, Long otherwise) throws Refusal {
        return typed(name, Long.class, otherwise);
    }

    public boolean flag(String name) throws Refusal {
        return typed(name, Boolean.class, Boolean.FALSE);
    }

    public byte[] bytes(String name) throws Refusal {
        try {
            return Base64.getDecoder().decode(text(name));
        } catch (IllegalArgumentException e) {
            throw new Refusal("BadCommand", name + " is not base64: " + e.getMessage());
        }
    }

    /** A list of texts; empty when it is absent. */
    public List<String> texts(String name) throws Refusal {
        List<String> texts = new ArrayList<>();
        for (Object item : list(name)) {
            if (!(item instanceof String)) {
                throw new Refusal("BadCommand", name + " is not a list of texts");
            }
            texts.add((String) item);
        }
        return texts;
    }

    /** Numbers: one alone or a list of them. */
    public List<Long> numbers(String name) throws Refusal {
        List<Long> numbers = new ArrayList<>();
        for (Object item : raw(name) instanceof Long ? List.of(raw(name)) : list(name)) {
            if (!(item instanceof Long)) {
                throw new Refusal("BadCommand", name + " is not a list of numbers");
            }
            numbers.add((Long) item);
        }
        return numbers;
    }

    /** Name to text; empty when it is absent. */
    public Map<String, String> pairs(String name) throws Refusal {
        Map<String, String> pairs = new LinkedHashMap<>();
        for (Map.Entry<String, Object> pair : map(name).entrySet()) {
            if (!(pair.getValue() instanceof String)) {
                throw new Refusal("BadCommand", name + " is not a table of texts");
            }
            pairs.put(pair.getKey(), (String) pair.getValue());
        }
        return pairs;
    }

    /** Name to number; empty when it is absent. */
    public Map<String, Long> counts(String name) throws Refusal {
        Map<String, Long> counts = new LinkedHashMap<>();
        for (Map.Entry<String, Object> pair : map(name).entrySet()) {
            if (!(pair.getValue() instanceof Long)) {
                throw new Refusal("BadCommand", name + " is not a table of numbers");
            }
            counts.put(pair.getKey(), (Long) pair.getValue());
        }
        return counts;
    }

    /** A list of objects, each with fields of its own; empty when it is absent. */
    public List<Command> commands(String name) throws Refusal {
        List<Command> commands = new ArrayList<>();
        for (Object item : list(name)) {
            commands.add(of(name, item));
        }
        return commands;
    }

    /** Objects by name, in the order they were sent; empty when it is absent. */
    public Map<String, Command> table(String name) throws Refusal {
        Map<String, Command> table = new LinkedHashMap<>();
        for (Map.Entry<String, Object> entry : map(name).entrySet()) {
            table.put(entry.getKey(), of(name, entry.getValue()));
        }
        return table;
    }

    /** Text whose bytes are its UTF-8 encoding, as bodies are compared with texts in `fail` and `hang_ms`. */
    public static String utf8(byte[] body) {
        return new String(body, StandardCharsets.UTF_8);
    }

    private List<?> list(String name) throws Refusal {
        return typed(name, List.class, List.of());
    }

    @SuppressWarnings("unchecked") // Json makes no maps but those with text keys.
    private Map<String, Object> map(String name) throws Refusal {
        return typed(name, Map.class, Map.of());
    }

    @SuppressWarnings("unchecked") // Json makes no maps but those with text keys.
    private static Command of(String name, Object value) throws Refusal {
        if (!(value instanceof Map)) {
            throw new Refusal("BadCommand", name + " holds something that is not an object");
        }
        return new Command((Map<String, Object>) value);
    }

    private static <T> T required(String name, T value) throws Refusal {
        if (value == null) {
            throw new Refusal("BadCommand", name + " is missing");
        }
        return value;
    }

    private <T> T typed(String name, Class<T> type, T otherwise) throws Refusal {
        Object value = raw(name);
        if (value == null) {
            return otherwise;
        }
        if (!type.isInstance(value)) {
            throw new Refusal("BadCommand", name + " has the wrong type");
        }
        return type.cast(value);
    }
}
