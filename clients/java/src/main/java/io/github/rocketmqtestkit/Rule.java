package io.github.rocketmqtestkit;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** A rule of faults: one fault, criteria, and how often it fires. Methods change it and return it. */
public final class Rule {
    private final Map<String, Object> fields = new LinkedHashMap<>();
    private final Map<String, Object> criteria = new LinkedHashMap<>();

    private Rule(Object fault) {
        fields.put("then", fault);
    }

    /** Returns a rule with a kind of fault, such as {@code drop_response}. */
    public static Rule of(String fault) {
        return new Rule(fault);
    }

    /** Returns a rule with a kind of fault and its parameters, such as {@code delay_response} with {@code duration}. */
    public static Rule of(String fault, Map<String, ?> parameters) {
        return new Rule(Map.of(fault, parameters));
    }

    /** Adds a criterion, such as {@code operation}, {@code topic}, {@code group}, {@code client}, {@code key}. */
    public Rule when(String criterion, Object value) {
        criteria.put(criterion, value);
        return this;
    }

    /** Adds the criterion of an operation, such as {@code SendMessage}. */
    public Rule operation(String operation) {
        return when("operation", operation);
    }

    /** Adds the criterion of a topic. */
    public Rule topic(String topic) {
        return when("topic", topic);
    }

    /** Adds the criterion of a consumer group. */
    public Rule group(String group) {
        return when("group", group);
    }

    /** Names the rule. */
    public Rule name(String name) {
        return with("name", name);
    }

    /** Fires only at these matches, counted from 1. */
    public Rule nth(Integer... matches) {
        return with("nth", List.of(matches));
    }

    /** Fires at every Nth match. */
    public Rule every(int matches) {
        return with("every", matches);
    }

    /** Fires at the matches after the first N. */
    public Rule after(int matches) {
        return with("after", matches);
    }

    /** Fires at most this often. */
    public Rule times(int firings) {
        return with("times", firings);
    }

    /** Fires with this probability, by the seed of the emulator. */
    public Rule probability(double probability) {
        return with("probability", probability);
    }

    /** Accepts response codes that a request never gets. */
    public Rule anyCode() {
        return with("strict", false);
    }

    Map<String, Object> form() {
        Map<String, Object> form = new LinkedHashMap<>(fields);
        form.put("when", criteria);
        return form;
    }

    private Rule with(String name, Object value) {
        fields.put(name, value);
        return this;
    }
}
