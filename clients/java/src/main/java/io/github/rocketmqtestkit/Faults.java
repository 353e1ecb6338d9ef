package io.github.rocketmqtestkit;

import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** The rules by which an emulator loses, delays or refuses requests and responses. */
public final class Faults {
    private final Control control;

    Faults(Control control) {
        this.control = control;
    }

    /**
     * Adds a rule.
     *
     * @throws RocketMQException if a name or a value in it is wrong
     */
    public AddedRule add(Rule rule) {
        return addAll(List.of(rule)).get(0);
    }

    /**
     * Adds rules, all of them or none.
     *
     * @throws RocketMQException if a name or a value in one of them is wrong
     */
    public List<AddedRule> addAll(List<Rule> rules) {
        List<Map<String, Object>> forms = rules.stream().map(Rule::form).collect(Collectors.toList());
        return control.write("/v1/faults", Map.of("rules", forms)).texts("names").stream()
                .map(name -> new AddedRule(control, name)).collect(Collectors.toList());
    }

    /** Returns all rules in the order in which they were added. */
    public List<RuleState> list() {
        return control.read("/v1/faults").list("rules", RuleState::new);
    }

    /** Adds the rules of a preset, such as {@code flaky-network}, and returns their names. */
    public List<String> addPreset(String name) {
        return control.write("/v1/faults", Map.of("preset", name)).texts("names");
    }

    /** Adds the rules of a preset with parameters, and returns their names. */
    public List<String> addPreset(String name, Map<String, ?> parameters) {
        return control.write("/v1/faults", Map.of("preset", Map.of(name, parameters))).texts("names");
    }

    /** Removes all rules. */
    public void clear() {
        control.delete("/v1/faults");
    }

    /** A rule of a running emulator. */
    public static final class AddedRule {
        private final Control control;
        private final String name;

        AddedRule(Control control, String name) {
            this.control = control;
            this.name = name;
        }

        /** Returns the name. */
        public String name() {
            return name;
        }

        /** Returns how often the criteria of the rule have matched. */
        public int matched() {
            return events().matched();
        }

        /** Returns how often the rule has fired. */
        public int fired() {
            return events().fired();
        }

        /** Returns the rule, its matches and firings so far, and its last 100 firings. */
        public RuleEvents events() {
            return new RuleEvents(control.read(path()));
        }

        /** Removes the rule. */
        public void remove() {
            control.delete(path());
        }

        /**
         * Returns the name, the matches and firings so far, the rule as JSON, and hints, in one line. Of a rule that
         * was removed, or whose emulator does not respond, it returns the name and this fact.
         */
        @Override
        public String toString() {
            RuleEvents found;
            try {
                found = events();
            } catch (RocketMQException error) {
                return "Rule " + name + (error.isNotFound() ? ", removed" : ", not running");
            }
            String hints = found.hints().stream().map(hint -> "; it " + hint).collect(Collectors.joining());
            return "Rule " + name + " matched=" + found.matched() + " fired=" + found.fired() + " "
                    + Json.write(found.rule()) + hints;
        }

        private String path() {
            return "/v1/faults/" + Control.encoded(name);
        }
    }
}
