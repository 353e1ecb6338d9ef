"""Driver of the C++ SDK of the remoting protocol, by its published wrapper for Python.

It carries out commands with the published SDK. It must not know scenarios, or whether the broker is an emulator.
"""
