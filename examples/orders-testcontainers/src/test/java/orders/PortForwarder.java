package orders;

import java.io.Closeable;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;

/** Forwards the connections of a random port to an address, as a container engine does. */
final class PortForwarder implements Closeable {
    private final ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    private final String host;
    private final int port;

    PortForwarder(String address) throws IOException {
        int colon = address.lastIndexOf(':');
        host = address.substring(0, colon);
        port = Integer.parseInt(address.substring(colon + 1));
        inBackground(this::accept);
    }

    /** Returns the address that clients connect to. */
    String address() {
        return "127.0.0.1:" + server.getLocalPort();
    }

    private void accept() throws IOException {
        while (true) {
            Socket client = server.accept();
            Socket target = new Socket(host, port);
            inBackground(() -> copy(client, target));
            inBackground(() -> copy(target, client));
        }
    }

    private static void copy(Socket from, Socket to) throws IOException {
        try (from; to) {
            from.getInputStream().transferTo(to.getOutputStream());
        }
    }

    private interface Work {
        void run() throws IOException;
    }

    private static void inBackground(Work work) {
        Thread thread = new Thread(() -> {
            try {
                work.run();
            } catch (IOException e) {
                // One side has closed the connection.
            }
        });
        thread.setDaemon(true);
        thread.start();
    }

    @Override
    public void close() throws IOException {
        server.close();
    }
}
