package io.github.rocketmqtestkit;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Ports and advertised addresses of a fork. Without them it gets free ports. Methods change them and return them. */
public final class ForkOptions {
    private final Map<String, Object> fields = new LinkedHashMap<>();

    /** Sets the port of the name server. */
    public ForkOptions nameServerPort(int port) {
        return with("namesrv_port", port);
    }

    /** Sets the port of the first broker. */
    public ForkOptions brokerPort(int port) {
        return with("broker_port", port);
    }

    /** Sets the port of the gRPC proxy. */
    public ForkOptions grpcPort(int port) {
        return with("grpc_port", port);
    }

    /** Sets the control port. */
    public ForkOptions controlPort(int port) {
        return with("control_port", port);
    }

    /** Sets the addresses that routes name, as the option {@code --advertise} does: such as {@code 192.0.2.1}. */
    public ForkOptions advertise(String... addresses) {
        return with("advertise", List.of(addresses));
    }

    Map<String, Object> form() {
        return fields;
    }

    private ForkOptions with(String name, Object value) {
        fields.put(name, value);
        return this;
    }
}
