package testkit.driver.grpc;

import java.lang.reflect.Method;

/** What the oldest version of the SDK lacks is reached by name. */
final class Newer {
    private Newer() {
    }

    /** The method, or null in a version that lacks it. */
    static Method method(Class<?> type, String name, Class<?>... parameters) {
        try {
            return type.getMethod(name, parameters);
        } catch (NoSuchMethodException e) {
            return null;
        }
    }
}
