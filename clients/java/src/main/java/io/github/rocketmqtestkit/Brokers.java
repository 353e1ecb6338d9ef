package io.github.rocketmqtestkit;

import java.util.List;
import java.util.Map;

/**
 * Stops, starts and configures the brokers of an emulator. A broker is named as {@code broker-b} for a master, and as
 * {@code broker-b:1} for a slave, by name and id.
 */
public final class Brokers {
    private final Control control;

    Brokers(Control control) {
        this.control = control;
    }

    /** Crashes the first master and the gRPC proxy, and starts them again at once. Unflushed data is lost. */
    public void crash() {
        control.post("/v1/crash", Map.of());
    }

    /** Crashes a running broker and the gRPC proxy, and starts them again at once. Unflushed data is lost. */
    public void crash(String broker) {
        control.post("/v1/crash", Map.of("broker", broker));
    }

    /**
     * Crashes the process of a running broker and the gRPC proxy, and starts them again at once. The machine keeps its
     * power, so that unflushed data is kept.
     */
    public void crashProcess(String broker) {
        control.post("/v1/crash", Map.of("broker", broker, "power_loss", false));
    }

    /** Restarts the first master and the gRPC proxy gracefully. */
    public void restart() {
        control.post("/v1/restart", Map.of());
    }

    /** Restarts a running broker and the gRPC proxy gracefully. */
    public void restart(String broker) {
        control.post("/v1/restart", Map.of("broker", broker));
    }

    /** Stops a broker gracefully. */
    public void stop(String broker) {
        control.post("/v1/brokers/stop", Map.of("broker", broker));
    }

    /** Stops a broker as a crash does. */
    public void kill(String broker) {
        control.post("/v1/brokers/stop", Map.of("broker", broker, "kill", true));
    }

    /** Starts a stopped broker. */
    public void start(String broker) {
        control.post("/v1/brokers/start", Map.of("broker", broker));
    }

    /** Changes configuration keys, all of them or none. Values are texts, numbers or booleans. */
    public void configure(Map<String, ?> keys) {
        control.patch("/v1/config", Map.of("keys", keys));
    }

    /** Changes configuration keys of one broker, all of them or none. */
    public void configure(String broker, Map<String, ?> keys) {
        control.patch("/v1/config", Map.of("keys", keys, "broker", broker));
    }

    /** Returns all brokers in the order of their configuration. */
    public List<BrokerInfo> list() {
        return control.read("/v1/brokers").list("brokers", BrokerInfo::new);
    }

    /** Returns all configuration keys with their values. */
    public Configuration configuration() {
        return new Configuration(control.read("/v1/config"));
    }
}
