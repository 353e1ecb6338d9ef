"""The version of RocketMQ whose behavior the emulator has. Source: MQVersion (5.3.3)."""

from typing import Final

VERSION_NUMBER: Final = 479
"""Its number, in headers of remoting frames, registrations of gRPC clients and the runtime info of a broker."""
VERSION_NAME: Final = "V5_3_3"
"""Its name, in the runtime info of a broker."""
