package orders;

import io.github.rocketmqtestkit.RocketMQ;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

/** The tests with a container. They need a container engine and the image of the emulator. */
class ContainerTest extends MappedPorts {
    private static final RocketMQEmulatorContainer CONTAINER = new RocketMQEmulatorContainer("rocketmq-emulator");

    @BeforeAll
    static void start() {
        CONTAINER.start();
    }

    @AfterAll
    static void stop() {
        CONTAINER.stop();
    }

    @Override
    RocketMQ emulator() {
        return CONTAINER.emulator();
    }
}
