package io.github.rocketmqtestkit;

/** How tests of {@link RocketMQTest} share the process of the emulator. */
public enum Isolation {
    /** Each test gets a fork of its own, with ports of its own. Tests may run in parallel. */
    FORK,
    /**
     * Each test gets the same emulator, with the same ports, which is reset before. A second test at the same time is
     * refused.
     */
    RESET
}
