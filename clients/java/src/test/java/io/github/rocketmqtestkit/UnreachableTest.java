package io.github.rocketmqtestkit;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The texts of errors about a control port that does not respond. */
class UnreachableTest {
    /** Checks that a request fails with a text that names the cause. */
    private static void assertFails(ServerSocket port, String cause) {
        Control control = new Control("http://127.0.0.1:" + port.getLocalPort(), "");
        String text = assertThrows(RocketMQException.class, () -> control.post("/v1/topics", Map.of())).getMessage();
        assertTrue(text.matches("http://127.0.0.1:\\d+: the control port does not respond \\(" + cause
                + "\\); does the emulator run\\?"), text);
    }

    private static ServerSocket listen() throws IOException {
        return new ServerSocket(0, 0, InetAddress.getByName("127.0.0.1"));
    }

    @Test
    void refusedConnectionIsNamed() throws IOException {
        ServerSocket port = listen();
        port.close();
        assertFails(port, "java.net.ConnectException.*");
    }

    @Test
    void connectionThatEndsWithoutAResponseIsNamed() throws IOException, InterruptedException {
        try (ServerSocket port = listen()) {
            Thread ending = new Thread(() -> {
                try (Socket accepted = port.accept()) {
                    accepted.shutdownOutput();
                    accepted.getInputStream().readAllBytes();
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            });
            ending.start();
            assertFails(port, "java.io.IOException: HTTP/1.1 header parser received no bytes, caused by java.io.EOFException: .*");
            ending.join();
        }
    }
}
