"""Drivers: one small program per published RocketMQ SDK, controlled through the protocol of PROTOCOL.md.

This room builds and starts the programs; it must not know scenarios or targets.
"""
