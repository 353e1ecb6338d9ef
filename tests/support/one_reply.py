"""A server that sends the same bytes whatever it receives."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def responding(reply: bytes | None) -> Iterator[str]:
    """Serve one connection with a reply, or keep it open without a reply if that is None; yield the URL."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        ended = threading.Event()

        def respond() -> None:
            connection, _ = server.accept()
            with connection:
                if reply is None:
                    ended.wait(10)
                else:
                    connection.recv(65536)
                    connection.sendall(reply)

        thread = threading.Thread(target=respond)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
        ended.set()
        thread.join(5)
        assert not thread.is_alive()
