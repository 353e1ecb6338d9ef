package orders;

import io.github.rocketmqtestkit.RocketMQ;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;
import org.testcontainers.utility.DockerImageName;

/** A container of the emulator, whose ports are mapped to random ones. */
public final class RocketMQEmulatorContainer extends GenericContainer<RocketMQEmulatorContainer> {
    private static final int NAME_SERVER = 9876;
    private static final int BROKER = 10911;
    private static final int ENDPOINT = 8081;
    private static final int CONTROL = 8090;

    private RocketMQ emulator;

    /** Takes the image, such as {@code rocketmq-emulator}, and topics as NAME, NAME:TYPE or NAME:TYPE:QUEUES. */
    public RocketMQEmulatorContainer(String image, String... topics) {
        super(DockerImageName.parse(image));
        StringBuilder options = new StringBuilder("--profile fast");
        for (String topic : topics) {
            options.append(" --topic ").append(topic);
        }
        withCommand(options.toString());
        withExposedPorts(NAME_SERVER, BROKER, ENDPOINT, CONTROL);
        waitingFor(Wait.forHttp("/readyz").forPort(CONTROL));
    }

    /** Returns the emulator, with the addresses at which clients on this machine reach it. */
    public RocketMQ emulator() {
        return emulator;
    }

    @Override
    protected void containerIsStarted(com.github.dockerjava.api.command.InspectContainerResponse details) {
        emulator = RocketMQ.connect("http://" + address(CONTROL))
                .mapped(address(NAME_SERVER), address(BROKER), address(ENDPOINT));
    }

    private String address(int port) {
        return getHost() + ":" + getMappedPort(port);
    }
}
