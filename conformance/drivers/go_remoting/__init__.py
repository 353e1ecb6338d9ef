"""Driver of the Go SDK of the remoting protocol.

It carries out commands with the published SDK. It must not know scenarios, or whether the broker is an emulator.
"""
