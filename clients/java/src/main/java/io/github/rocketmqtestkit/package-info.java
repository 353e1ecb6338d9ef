/**
 * Runs an Apache RocketMQ emulator for JUnit 5 tests. {@link io.github.rocketmqtestkit.RocketMQTest} gives one to each
 * test.
 */
package io.github.rocketmqtestkit;
