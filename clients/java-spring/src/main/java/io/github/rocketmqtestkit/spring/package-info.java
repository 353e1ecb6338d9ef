/**
 * Connects Spring tests to an Apache RocketMQ emulator.
 * {@link io.github.rocketmqtestkit.spring.RocketMQConnection} does it for one test class.
 */
package io.github.rocketmqtestkit.spring;
