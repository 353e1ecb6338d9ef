package io.github.rocketmqtestkit;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Typed access to a JSON object of the control port. */
final class Fields {
    private final Map<String, Object> values;

    Fields(Map<String, Object> values) {
        this.values = values;
    }

    /** Returns a text; an empty one if the field is null or absent. */
    String text(String name) {
        Object value = values.get(name);
        return value == null ? "" : value.toString();
    }

    /** Returns a whole number; 0 if the field is null or absent. */
    long number(String name) {
        Object value = values.get(name);
        return value == null ? 0 : ((Number) value).longValue();
    }

    boolean isTrue(String name) {
        return Boolean.TRUE.equals(values.get(name));
    }

    Instant instant(String name) {
        return Instant.ofEpochMilli(number(name));
    }

    byte[] bytes(String name) {
        return Base64.getDecoder().decode(text(name));
    }

    List<String> texts(String name) {
        List<String> found = new ArrayList<>();
        for (Object each : list(name)) {
            found.add(String.valueOf(each));
        }
        return found;
    }

    List<Fields> objects(String name) {
        List<Fields> found = new ArrayList<>();
        for (Object each : list(name)) {
            found.add(new Fields(asMap(each)));
        }
        return found;
    }

    Map<String, String> map(String name) {
        Map<String, String> found = new LinkedHashMap<>();
        Object value = values.get(name);
        if (value != null) {
            asMap(value).forEach((key, text) -> found.put(key, String.valueOf(text)));
        }
        return found;
    }

    private List<?> list(String name) {
        Object value = values.get(name);
        return value == null ? List.of() : (List<?>) value;
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Object> asMap(Object value) {
        return (Map<String, Object>) value;
    }

    /** Returns a duration in the form of the control port. */
    static String duration(Duration length) {
        return length.toMillis() + "ms";
    }
}
