package testkit.driver.remoting;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;

/** Calls by name of what 4.9.8 lacks or keeps in another package. */
final class Old {
    private Old() {
    }

    /** The method, or null in an SDK version that lacks it. */
    static Method method(Class<?> type, String name, Class<?>... parameters) {
        try {
            return type.getMethod(name, parameters);
        } catch (NoSuchMethodException e) {
            return null;
        }
    }

    /** Calls a setter that takes an enum whose package differs between versions. */
    static void setEnum(Object target, String setter, String constant) throws Exception {
        for (Method method : target.getClass().getMethods()) {
            if (method.getName().equals(setter) && method.getParameterCount() == 1
                && method.getParameterTypes()[0].isEnum()) {
                for (Object value : method.getParameterTypes()[0].getEnumConstants()) {
                    if (((Enum<?>) value).name().equals(constant)) {
                        call(method, target, value);
                        return;
                    }
                }
            }
        }
        throw new NoSuchMethodException(setter + "(" + constant + ")");
    }

    /** Calls the method and throws what it throws. */
    static Object call(Method method, Object target, Object... arguments) throws Exception {
        try {
            return method.invoke(target, arguments);
        } catch (InvocationTargetException e) {
            if (e.getCause() instanceof Exception) {
                throw (Exception) e.getCause();
            }
            throw e;
        }
    }
}
