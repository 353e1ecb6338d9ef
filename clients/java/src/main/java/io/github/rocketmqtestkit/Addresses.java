package io.github.rocketmqtestkit;

import java.net.URI;
import java.util.Map;

/** Addresses of an emulator, as the ready line and the response to a fork contain them. */
final class Addresses {
    final String nameServer;
    final String broker;
    final String endpoint;
    final String control;

    private Addresses(String nameServer, String broker, String endpoint, String control) {
        this.nameServer = nameServer;
        this.broker = broker;
        this.endpoint = endpoint;
        this.control = control;
    }

    static Addresses of(Fields ready) {
        return new Addresses(ready.text("namesrv"), ready.text("broker"), ready.text("endpoint"),
                ready.text("control"));
    }

    /** Returns the addresses for a client that reaches the control port by a URL. */
    static Addresses seenFrom(URI control, Fields ready) {
        Map<String, String> advertised = ready.map("advertised");
        return new Addresses(
                advertised.getOrDefault("namesrv", there(control, ready.text("namesrv"))),
                advertised.getOrDefault("broker", there(control, ready.text("broker"))),
                advertised.getOrDefault("endpoint", there(control, ready.text("endpoint"))),
                control.toString());
    }

    /** Returns the same emulator's addresses with other ones than that of the control port. */
    Addresses mapped(String nameServer, String broker, String endpoint) {
        return new Addresses(nameServer, broker, endpoint, control);
    }

    private static String there(URI control, String address) {
        int colon = address.lastIndexOf(':');
        if (colon < 0 || isLoopback(control.getHost()) || !isLoopback(address.substring(0, colon))) {
            return address;
        }
        return control.getHost() + address.substring(colon);
    }

    private static boolean isLoopback(String host) {
        return host.equals("localhost") || host.startsWith("127.") || host.equals("[::1]") || host.equals("::1");
    }
}
