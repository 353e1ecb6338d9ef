package io.github.rocketmqtestkit;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Reads and writes JSON: maps, lists, strings, Long, Double, Boolean and null.
 *
 * <p>The drivers of the conformance suite have a similar class. They are compiled from the sources of an installed Python
 * package, which does not contain this artifact, and this artifact has no dependency.
 */
final class Json {
    private static final String ESCAPED = "\"\\/\b\f\n\r\t";
    private static final String ESCAPES = "\"\\/bfnrt";

    private final String text;
    private int at;

    private Json(String text) {
        this.text = text;
    }

    /** Returns the value of a whole text. Throws IllegalArgumentException if it is not JSON. */
    static Object read(String text) {
        Json reader = new Json(text);
        Object value = reader.value();
        reader.skipBlanks();
        if (reader.at < text.length()) {
            throw reader.wrong("text after the value");
        }
        return value;
    }

    /** Returns the object of a whole text. Throws IllegalArgumentException if it is not a JSON object. */
    @SuppressWarnings("unchecked")
    static Map<String, Object> readObject(String text) {
        Object value = read(text);
        if (!(value instanceof Map)) {
            throw new IllegalArgumentException("not a JSON object: " + text);
        }
        return (Map<String, Object>) value;
    }

    /** Returns a value as JSON. Values of other types are written as their text. */
    static String write(Object value) {
        StringBuilder out = new StringBuilder();
        write(value, out);
        return out.toString();
    }

    private Object value() {
        skipBlanks();
        char first = peek();
        if (first == '{') {
            return object();
        }
        if (first == '[') {
            return array();
        }
        if (first == '"') {
            return string();
        }
        int begin = at;
        while (at < text.length() && ",]} \t\r\n".indexOf(text.charAt(at)) < 0) {
            at++;
        }
        String word = text.substring(begin, at);
        switch (word) {
            case "true":
                return Boolean.TRUE;
            case "false":
                return Boolean.FALSE;
            case "null":
                return null;
            default:
                return number(word);
        }
    }

    private Object number(String word) {
        try {
            if (word.matches("-?\\d+")) {
                return Long.valueOf(word);
            }
            return Double.valueOf(word);
        } catch (NumberFormatException e) {
            throw wrong("no value: " + word);
        }
    }

    private Map<String, Object> object() {
        Map<String, Object> fields = new LinkedHashMap<>();
        at++;
        skipBlanks();
        if (peek() == '}') {
            at++;
            return fields;
        }
        do {
            skipBlanks();
            if (peek() != '"') {
                throw wrong("the name of a field is missing");
            }
            String name = string();
            skipBlanks();
            expect(':');
            fields.put(name, value());
        } while (hasMore('}'));
        return fields;
    }

    private List<Object> array() {
        List<Object> items = new ArrayList<>();
        at++;
        skipBlanks();
        if (peek() == ']') {
            at++;
            return items;
        }
        do {
            items.add(value());
        } while (hasMore(']'));
        return items;
    }

    private boolean hasMore(char end) {
        skipBlanks();
        if (peek() == end) {
            at++;
            return false;
        }
        expect(',');
        return true;
    }

    private String string() {
        StringBuilder out = new StringBuilder();
        at++;
        while (true) {
            char next = peek();
            at++;
            if (next == '"') {
                return out.toString();
            }
            out.append(next == '\\' ? escaped() : next);
        }
    }

    private char escaped() {
        char next = peek();
        at++;
        int known = ESCAPES.indexOf(next);
        if (known >= 0) {
            return ESCAPED.charAt(known);
        }
        if (next != 'u' || at + 4 > text.length()) {
            throw wrong("an unknown escape");
        }
        String digits = text.substring(at, at + 4);
        at += 4;
        try {
            return (char) Integer.parseInt(digits, 16);
        } catch (NumberFormatException e) {
            throw wrong("an unknown escape");
        }
    }

    private void expect(char wanted) {
        if (peek() != wanted) {
            throw wrong("'" + wanted + "' is missing");
        }
        at++;
    }

    private char peek() {
        if (at >= text.length()) {
            throw wrong("the text ends early");
        }
        return text.charAt(at);
    }

    private void skipBlanks() {
        while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
    }

    private IllegalArgumentException wrong(String what) {
        return new IllegalArgumentException("not JSON at character " + at + ": " + what);
    }

    private static void write(Object value, StringBuilder out) {
        if (value == null || value instanceof Boolean || value instanceof Number) {
            out.append(value);
        } else if (value instanceof Map) {
            out.append('{');
            String separator = "";
            for (Map.Entry<?, ?> field : ((Map<?, ?>) value).entrySet()) {
                out.append(separator);
                quote(field.getKey().toString(), out);
                out.append(':');
                write(field.getValue(), out);
                separator = ",";
            }
            out.append('}');
        } else if (value instanceof Iterable) {
            out.append('[');
            String separator = "";
            for (Object item : (Iterable<?>) value) {
                out.append(separator);
                write(item, out);
                separator = ",";
            }
            out.append(']');
        } else {
            quote(value.toString(), out);
        }
    }

    private static void quote(String text, StringBuilder out) {
        out.append('"');
        for (int index = 0; index < text.length(); index++) {
            char next = text.charAt(index);
            int known = ESCAPED.indexOf(next);
            if (known >= 0 && next != '/') {
                out.append('\\').append(ESCAPES.charAt(known));
            } else if (next < ' ' || Character.isSurrogate(next)) {
                // An escaped half of a pair survives UTF-8, which has no form for it.
                out.append(String.format("\\u%04x", (int) next));
            } else {
                out.append(next);
            }
        }
        out.append('"');
    }
}
