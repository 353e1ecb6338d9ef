"""The container's health check: exit code 0 if the emulator is ready. Argument: its control port (default 8090).

It imports only one module because it runs every two seconds.
"""

import socket
import sys


def ready(port: int) -> bool:
    """Return True if GET /readyz returns status 200."""
    try:
        with socket.create_connection(("127.0.0.1", port), 2) as connection:
            connection.sendall(b"GET /readyz HTTP/1.1\r\nConnection: close\r\n\r\n")
            return connection.recv(64).startswith(b"HTTP/1.1 200 ")
    except OSError:
        return False


if __name__ == "__main__":
    sys.exit(0 if ready(int(sys.argv[1]) if len(sys.argv) > 1 else 8090) else 1)
