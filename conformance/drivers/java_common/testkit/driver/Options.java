package testkit.driver;

import java.util.HashMap;
import java.util.Map;

/** The switches of the command line: `--name value`, or `--name` alone for a flag. */
public final class Options {
    private final Map<String, String> values = new HashMap<>();

    public Options(String[] words) {
        for (int i = 0; i < words.length; i++) {
            if (!words[i].startsWith("--")) {
                throw new IllegalArgumentException("not a switch: " + words[i]);
            }
            boolean alone = i + 1 == words.length || words[i + 1].startsWith("--");
            values.put(words[i].substring(2), alone ? "" : words[++i]);
        }
    }

    public boolean flag(String name) {
        return values.containsKey(name);
    }

    public String text(String name) {
        String value = values.get(name);
        if (value == null || value.isEmpty()) {
            throw new IllegalArgumentException("--" + name + " is missing");
        }
        return value;
    }

    public String text(String name, String otherwise) {
        return values.getOrDefault(name, otherwise);
    }

    /** The key to sign requests with, from the environment, where only this process sees it; null without one. */
    public String accessKey() {
        return System.getenv("TESTKIT_ACCESS_KEY");
    }

    public String secretKey() {
        return System.getenv("TESTKIT_SECRET_KEY");
    }
}
