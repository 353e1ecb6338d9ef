package io.github.rocketmqtestkit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/**
 * Calls each public method of the classes that send requests, against the emulator of SHOP_CONTROL_URL, its forks, and
 * emulators of this JVM. tests/support/busy_shop.py describes the messages and groups of the shop.
 */
class MethodsTest {
    /** Classes that send requests. The others are values. */
    private static final List<Class<?>> CLASSES = List.of(RocketMQ.class, RocketMQ.Options.class, Topic.class,
            StoredMessages.class, Messages.class, Group.class, Clock.class, Brokers.class, Faults.class,
            Faults.AddedRule.class, Hold.class, Inspection.class, Journal.class, Snapshots.class, Control.class);

    /** Calls a method. The fork has the state of the shop and none of its clients, and a row may change it. */
    interface Call {
        void with(RocketMQ shop, RocketMQ fork) throws Exception;
    }

    private static Map<String, Call> rows() {
        Map<String, Call> rows = new TreeMap<>();
        new EmulatorRows(rows).add();
        new AssertionRows(rows).add();
        new ViewRows(rows).add();
        return rows;
    }

    /** Returns a method as Class.name(Type, Type). */
    private static String described(Method method) {
        return method.getDeclaringClass().getSimpleName() + "." + method.getName() + "("
                + Arrays.stream(method.getParameterTypes()).map(Class::getSimpleName).collect(Collectors.joining(", "))
                + ")";
    }

    @Test
    void eachMethodHasARow() {
        Set<String> declared = new TreeSet<>();
        for (Class<?> type : CLASSES) {
            for (Method method : type.getDeclaredMethods()) {
                if (Modifier.isPublic(method.getModifiers()) && !method.isSynthetic()) {
                    declared.add(described(method));
                }
            }
        }
        assertEquals(declared, rows().keySet());
    }

    @Test
    void eachMethodWorks() {
        RocketMQ shop = RocketMQ.connect(System.getenv("SHOP_CONTROL_URL"));
        List<String> failed = new ArrayList<>();
        rows().forEach((name, call) -> {
            try (RocketMQ fork = shop.fork()) {
                call.with(shop, fork);
            } catch (Exception | AssertionError e) {
                failed.add(name + ": " + e);
            }
        });
        assertTrue(failed.isEmpty(), String.join("\n", failed));
    }
}
