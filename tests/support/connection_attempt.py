"""A new connection, as rules about connections see it."""


class ConnectionAttempt:
    """A connection that a client opens. `done` lists the actions of rules on it."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def refuse(self) -> None:
        """Note a reset."""
        self.done.append("refuse")

    def ignore(self) -> None:
        """Note that it is ignored."""
        self.done.append("ignore")

    def fail_handshake(self) -> None:
        """Note a failed handshake."""
        self.done.append("fail")
