package orders;

import io.github.rocketmqtestkit.RocketMQ;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

/** The same tests without a container engine: a forwarder maps each port of an emulator to a random one. */
class ForwarderTest extends MappedPorts {
    private static final List<PortForwarder> FORWARDERS = new ArrayList<>();
    private static RocketMQ started;
    private static RocketMQ mapped;

    @BeforeAll
    static void start() throws IOException {
        // Without the mapped addresses, routes name a host that does not exist.
        started = RocketMQ.start(new RocketMQ.Options().arguments("--advertise", "emulator.invalid"));
        mapped = RocketMQ.connect("http://" + forwarded(started.controlUrl().replace("http://", ""))).mapped(
                forwarded(started.nameServer()), forwarded(started.broker()), forwarded(started.endpoint()));
    }

    private static String forwarded(String address) throws IOException {
        PortForwarder forwarder = new PortForwarder(address);
        FORWARDERS.add(forwarder);
        return forwarder.address();
    }

    @AfterAll
    static void stop() throws IOException {
        for (PortForwarder forwarder : FORWARDERS) {
            forwarder.close();
        }
        started.close();
    }

    @Override
    RocketMQ emulator() {
        return mapped;
    }
}
