package testkit.driver;

import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** What a producer answers to checks: one word, a list of them, or a map from bodies to those. */
public final class Answers {
    private static final Set<String> WORDS = Set.of("COMMIT", "ROLLBACK", "UNKNOWN");

    private final Loop loop;
    private final String name;
    private final Map<String, List<?>> byBody = new HashMap<>();
    private final Map<String, Integer> asked = new ConcurrentHashMap<>();

    /** The answers in the field `check` of a command that makes a producer. */
    public Answers(Loop loop, Command command) throws Refusal {
        this.loop = loop;
        name = command.text("as");
        Object check = command.raw("check");
        Map<?, ?> forms = check instanceof Map ? (Map<?, ?>) check : Map.of(Script.OTHERS, check);
        for (Map.Entry<?, ?> form : forms.entrySet()) {
            List<?> words = form.getValue() instanceof List
                ? (List<?>) form.getValue() : Collections.singletonList(form.getValue());
            if (words.isEmpty() || !words.stream().allMatch(word -> word != null && WORDS.contains(word))) {
                throw new Refusal("BadCommand", "check is none of COMMIT, ROLLBACK, UNKNOWN, nor a list or map of them");
            }
            byBody.put((String) form.getKey(), words);
        }
    }

    /** Tells that the producer was asked for a transaction, and returns what it is to answer. */
    public String checked(Map<String, Object> message, String transaction) {
        long now = System.currentTimeMillis();
        String body = (String) message.get("body");
        int n = asked.merge(body, 1, Integer::sum);
        String text = new String(Base64.getDecoder().decode(body), StandardCharsets.UTF_8);
        List<?> words = byBody.getOrDefault(text, byBody.getOrDefault(Script.OTHERS, List.of("UNKNOWN")));
        String answer = (String) words.get(Math.min(n, words.size()) - 1);
        Map<?, ?> props = (Map<?, ?>) message.get("props");
        Object times = props.get("TRANSACTION_CHECK_TIMES");
        Map<String, Object> event = new LinkedHashMap<>();
        event.put("ev", "check");
        event.put("of", name);
        event.put("t", now);
        event.put("n", n);
        event.put("times", times == null ? null : Long.valueOf((String) times));
        event.put("transaction", transaction != null ? transaction : props.get("__transactionId__"));
        event.put("msg", message);
        event.put("answer", answer);
        loop.emit(event);
        return answer;
    }
}
