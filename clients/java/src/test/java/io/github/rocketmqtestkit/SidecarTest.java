package io.github.rocketmqtestkit;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import org.junit.jupiter.api.Test;

/** Tests that use a running emulator. */
class SidecarTest {
    private static final String VARIABLE = RocketMQ.CONTROL_VARIABLE + "=http://127.0.0.1:8090";

    @Test
    void testWithOptionsOfTheCommandIsRefused() {
        TestSettings settings = new TestSettings();
        assertDoesNotThrow(() -> SharedEmulators.refuseArguments(settings, VARIABLE));
        settings.arguments.addAll(List.of("--time", "frozen"));
        RocketMQException refusal =
                assertThrows(RocketMQException.class, () -> SharedEmulators.refuseArguments(settings, VARIABLE));
        assertEquals(VARIABLE + ": the test has options of the command, --time frozen, which a running emulator does "
                + "not take; start that emulator with them and remove them here, or unset the variable",
                refusal.getMessage());
    }
}
