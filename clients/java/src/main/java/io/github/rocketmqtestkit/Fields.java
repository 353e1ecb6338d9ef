package io.github.rocketmqtestkit;

import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.function.Function;
import java.util.stream.Collectors;

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

    /** Returns a whole number of 32 bits; 0 if the field is null or absent. */
    int whole(String name) {
        return Math.toIntExact(number(name));
    }

    OptionalLong optionalNumber(String name) {
        return values.get(name) == null ? OptionalLong.empty() : OptionalLong.of(number(name));
    }

    OptionalInt optionalWhole(String name) {
        return values.get(name) == null ? OptionalInt.empty() : OptionalInt.of(whole(name));
    }

    boolean isTrue(String name) {
        return Boolean.TRUE.equals(values.get(name));
    }

    Instant instant(String name) {
        return Instant.ofEpochMilli(number(name));
    }

    /** Returns a time in microseconds since 1970. */
    Instant instantMicros(String name) {
        return Instant.EPOCH.plus(number(name), ChronoUnit.MICROS);
    }

    Optional<Instant> optionalInstant(String name) {
        return values.get(name) == null ? Optional.empty() : Optional.of(instant(name));
    }

    Optional<Duration> optionalDuration(String name) {
        return values.get(name) == null ? Optional.empty() : Optional.of(Duration.ofMillis(number(name)));
    }

    /** Returns a value as JSON has it: a text, number, boolean, list or map, or null. */
    Object value(String name) {
        return values.get(name);
    }

    /** Returns the bytes of a text in base64; none if the field is absent. */
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

    <T> List<T> list(String name, Function<Fields, T> create) {
        return objects(name).stream().map(create).collect(Collectors.toUnmodifiableList());
    }

    Fields object(String name) {
        return new Fields(asMap(values.get(name)));
    }

    <T> Optional<T> optional(String name, Function<Fields, T> create) {
        return values.get(name) == null ? Optional.empty() : Optional.of(create.apply(object(name)));
    }

    /** Returns an object as a map of values of JSON; an empty one if the field is null or absent. */
    Map<String, Object> values(String name) {
        Object value = values.get(name);
        return value == null ? Map.of() : Collections.unmodifiableMap(asMap(value));
    }

    <T> Map<String, T> map(String name, Function<Fields, T> create) {
        Map<String, T> found = new LinkedHashMap<>();
        values(name).forEach((key, value) -> found.put(key, create.apply(new Fields(asMap(value)))));
        return found;
    }

    Map<String, Map<String, String>> maps(String name) {
        Map<String, Map<String, String>> found = new LinkedHashMap<>();
        values(name).forEach((key, value) -> found.put(key, object(name).map(key)));
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

    @Override
    public boolean equals(Object other) {
        return other instanceof Fields && values.equals(((Fields) other).values);
    }

    @Override
    public int hashCode() {
        return values.hashCode();
    }

    @Override
    public String toString() {
        return values.toString();
    }

    /** Returns a duration in the form of the control port. */
    static String duration(Duration length) {
        return length.toMillis() + "ms";
    }
}
