"""Drivers: one small program per published RocketMQ SDK, all spoken to by the protocol of PROTOCOL.md."""
