package io.github.rocketmqtestkit;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A user of the brokers. Actions are All, Pub, Sub, Create, Update, Delete, Get and List. Resources are Topic:NAME,
 * Group:NAME and Cluster:NAME; a * at the end of a name matches any rest.
 */
public final class User {
    private final Map<String, Object> fields = new LinkedHashMap<>();
    private final Map<String, List<String>> allowed = new LinkedHashMap<>();
    private final Map<String, List<String>> denied = new LinkedHashMap<>();

    private User() {}

    /** Returns a user without rights. */
    public static User of(String name, String password) {
        User user = new User();
        user.fields.put("name", name);
        user.fields.put("password", password);
        return user;
    }

    /** Gives the user all rights. */
    public User superUser() {
        fields.put("super", true);
        return this;
    }

    /** Allows actions on a resource. */
    public User allow(String resource, String... actions) {
        allowed.computeIfAbsent(resource, each -> new ArrayList<>()).addAll(List.of(actions));
        return this;
    }

    /** Denies actions on a resource. */
    public User deny(String resource, String... actions) {
        denied.computeIfAbsent(resource, each -> new ArrayList<>()).addAll(List.of(actions));
        return this;
    }

    Map<String, Object> form() {
        Map<String, Object> form = new LinkedHashMap<>(fields);
        form.put("allow", allowed);
        form.put("deny", denied);
        return form;
    }
}
