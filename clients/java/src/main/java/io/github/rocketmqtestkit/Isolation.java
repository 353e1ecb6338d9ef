package io.github.rocketmqtestkit;

/** The way in which tests of {@link RocketMQTest} share the process of the emulator. */
public enum Isolation {
    /** Each test gets a fork of its own, with ports of its own. Tests may run in parallel. */
    FORK,
    /**
     * All tests use the same emulator, with the same ports, which is reset before each test. A test that starts while
     * another one uses the emulator fails.
     */
    RESET
}
