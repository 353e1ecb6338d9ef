package testkit.driver;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * One JSON value to and from one line: maps, lists, text, Long, Double, Boolean, null. No other type goes in or out.
 *
 * <p>The helper for Java tests has a similar class. Drivers are compiled where the Python package is installed, which does
 * not contain the helper, and with SDKs that have other JSON libraries.
 */
public final class Json {
    private final String text;
    private int at;

    private Json(String text) {
        this.text = text;
    }

    /** The value that the whole of the text holds. */
    public static Object read(String text) throws Refusal {
        Json reader = new Json(text);
        Object value = reader.value();
        reader.blanks();
        if (reader.at < text.length()) {
            throw reader.bad("text after the value");
        }
        return value;
    }

    /** The value as JSON without line breaks. */
    public static String write(Object value) {
        StringBuilder out = new StringBuilder();
        write(value, out);
        return out.toString();
    }

    private Object value() throws Refusal {
        blanks();
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

    private Object number(String word) throws Refusal {
        try {
            return word.matches("-?\\d+") ? (Object) Long.valueOf(word) : (Object) Double.valueOf(word);
        } catch (NumberFormatException e) {
            throw bad("not a value: " + word);
        }
    }

    private Map<String, Object> object() throws Refusal {
        Map<String, Object> fields = new LinkedHashMap<>();
        at++;
        blanks();
        if (peek() == '}') {
            at++;
            return fields;
        }
        while (true) {
            blanks();
            if (peek() != '"') {
                throw bad("a field name is missing");
            }
            String name = string();
            blanks();
            expect(':');
            fields.put(name, value());
            if (!more('}')) {
                return fields;
            }
        }
    }

    private List<Object> array() throws Refusal {
        List<Object> items = new ArrayList<>();
        at++;
        blanks();
        if (peek() == ']') {
            at++;
            return items;
        }
        do {
            items.add(value());
        } while (more(']'));
        return items;
    }

    private boolean more(char end) throws Refusal {
        blanks();
        if (peek() == end) {
            at++;
            return false;
        }
        expect(',');
        return true;
    }

    private String string() throws Refusal {
        StringBuilder out = new StringBuilder();
        at++;
        while (true) {
            char c = peek();
            at++;
            if (c == '"') {
                return out.toString();
            }
            out.append(c == '\\' ? escaped() : c);
        }
    }

    private char escaped() throws Refusal {
        char c = peek();
        at++;
        int known = "\"\\/bfnrt".indexOf(c);
        if (known >= 0) {
            return "\"\\/\b\f\n\r\t".charAt(known);
        }
        if (c != 'u' || at + 4 > text.length()) {
            throw bad("an unknown escape");
        }
        String digits = text.substring(at, at + 4);
        at += 4;
        try {
            return (char) Integer.parseInt(digits, 16);
        } catch (NumberFormatException e) {
            throw bad("an unknown escape");
        }
    }

    private void expect(char wanted) throws Refusal {
        if (peek() != wanted) {
            throw bad("'" + wanted + "' is missing");
        }
        at++;
    }

    private char peek() throws Refusal {
        if (at >= text.length()) {
            throw bad("the line ends early");
        }
        return text.charAt(at);
    }

    private void blanks() {
        while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
    }

    private Refusal bad(String what) {
        return new Refusal("BadCommand", "not JSON at character " + at + ": " + what);
    }

    private static void write(Object value, StringBuilder out) {
        if (value == null || value instanceof Boolean || value instanceof Number) {
            out.append(value);
        } else if (value instanceof Map) {
            String separator = "{";
            for (Map.Entry<?, ?> field : ((Map<?, ?>) value).entrySet()) {
                out.append(separator);
                quote(field.getKey().toString(), out);
                out.append(": ");
                write(field.getValue(), out);
                separator = ", ";
            }
            out.append(separator.equals("{") ? "{}" : "}");
        } else if (value instanceof Iterable) {
            String separator = "[";
            for (Object item : (Iterable<?>) value) {
                out.append(separator);
                write(item, out);
                separator = ", ";
            }
            out.append(separator.equals("[") ? "[]" : "]");
        } else {
            quote(value.toString(), out);
        }
    }

    private static void quote(String text, StringBuilder out) {
        out.append('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == '"' || c == '\\') {
                out.append('\\').append(c);
            } else if (c < ' ' || c > '~') {
                // Everything beyond ASCII is escaped, so that the platform's encoding can spoil nothing.
                out.append(String.format("\\u%04x", (int) c));
            } else {
                out.append(c);
            }
        }
        out.append('"');
    }
}
